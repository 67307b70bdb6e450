"""Tablebases, as far as they can be asked without any."""

from pathlib import Path

import chess
import pytest

from rookery.match.job import MatchFault
from rookery.match.referee import make_probe, open_tables


def test_a_folder_without_tables_knows_nothing(tmp_path: Path) -> None:
    with open_tables([str(tmp_path)]) as tables:
        assert make_probe(tables)(chess.Board("4k3/8/8/8/8/8/8/R3K3 w - - 0 1")) is None


def test_a_position_in_the_middle_of_fifty_moves_is_not_asked_about(tmp_path: Path) -> None:
    with open_tables([str(tmp_path)]) as tables:
        assert make_probe(tables)(chess.Board("4k3/8/8/8/8/8/8/4K3 w - - 3 9")) is None


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MatchFault, match="No such file"):
        open_tables([str(tmp_path / "none")])
