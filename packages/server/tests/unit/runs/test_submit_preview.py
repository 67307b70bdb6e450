"""The preview of a submission."""

import pytest

from rookery.core.model.plan import Need, NeedWord
from rookery.server.runs.submit.preview import describe_needs

BUILD = Need(NeedWord.STOCKFISH_BUILD)
RECIPE = Need(NeedWord.RECIPE, "make")


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        ([], ""),
        ([BUILD], "It needs a machine that can build Stockfish."),
        ([RECIPE, Need(NeedWord.OWN_SPEED)], "It needs a machine with Rookery's own worker."),
        (
            [RECIPE, Need(NeedWord.TOOL, "cargo", (1, 75)), Need(NeedWord.CPU_FLAG, "avx2")],
            "It needs a machine with Rookery's own worker, cargo 1.75, a processor with avx2.",
        ),
    ],
)
def test_needs_are_told_in_words(needs: list[Need], words: str) -> None:
    assert describe_needs(needs) == words
