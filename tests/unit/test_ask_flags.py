"""Which sources an answer has because of the flags of `rookery ask`."""

import asyncio
from datetime import UTC, datetime

import msgspec
import pytest
from msgspec.structs import replace

from rookery.server.ask.passages import Asker, PassageFilter, PassageKind
from tests.documents import RAZORING
from tests.twins.ask import MemoryPassages, MemoryRetriever
from tests.unit.cli.test_ask import DONE, SOURCES, TOKENS, run

OTHER = replace(
    RAZORING,
    key="run/2",
    kind=PassageKind.RUN,
    body="A larger margin of razoring.",
    engine="jay",
    engines=("jay",),
    user="sven",
    time=datetime(2026, 4, 1, 18, tzinfo=UTC),
    time_class="ltc",
    outcome="passed",
)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((), {RAZORING.key, OTHER.key}),
        (("--engine=jay",), {OTHER.key}),
        (("--user=sven",), {OTHER.key}),
        (("--since=2026-04-01",), {OTHER.key}),
        (("--until=2026-04-01",), {RAZORING.key, OTHER.key}),
        (("--until=2026-03-31",), {RAZORING.key}),
        (("--time-class=ltc",), {OTHER.key}),
        (("--outcome=passed",), {OTHER.key}),
        (("--kind=run", "--kind=doc"), {OTHER.key}),
    ],
)
def test_only_what_the_flags_say_is_a_source(
    words: tuple[str, ...], found: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, transport = run(monkeypatch, SOURCES + TOKENS + DONE, "razoring margin", *words)
    wanted = msgspec.convert(transport.bodies[0].get("filters", {}), PassageFilter)
    passages = MemoryPassages()

    async def search() -> set[str]:
        await passages.put([RAZORING, OTHER])
        sources = await MemoryRetriever(passages).search("razoring margin", Asker(), wanted)
        return {each.id for each in sources}

    assert asyncio.run(search()) == found
