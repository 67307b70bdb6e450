"""The files that a match adds to."""

from pathlib import Path

import pytest

from rookery.match.commands.session import GameFiles
from rookery.match.job import GameEnded, MatchFault
from tests.unit.match.games import game


def test_games_that_can_not_be_kept_end_the_match_with_a_sentence(tmp_path: Path) -> None:
    games = GameFiles({}, tmp_path / "no-folder" / "x.pgn", tmp_path / "failures", "a vs b")
    with pytest.raises(MatchFault, match=r"x\.pgn can't be written: No such file"):
        games.add(GameEnded(0, 0, game("1-0")))
