"""Resume files."""

from pathlib import Path

import pytest

from rookery.match.job import MatchFault
from rookery.match.pgn import JournalEntry, JournalHeader, JournalWriter, read_journal
from rookery.match.results import pair_score_of
from tests.unit.match.games import pair

HEAD = JournalHeader("match", ("--tc=N=1",))


def written(path: Path, *numbers: int) -> None:
    with JournalWriter(path, HEAD) as writer:
        for number in numbers:
            writer.add(JournalEntry(pair_score_of(pair("1-0", "0-1", number=number))))


def test_what_was_written_is_read(tmp_path: Path) -> None:
    written(tmp_path / "a", 0, 2)
    found = read_journal(tmp_path / "a", "match")
    assert found.head == HEAD
    assert found.numbers == {0, 2}


def test_half_a_line_is_passed_over_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a"
    written(path, 0, 1)
    path.write_bytes(path.read_bytes()[:-20])
    assert read_journal(path, "match").numbers == {0}
    written(path, 5)
    assert read_journal(path, "match").numbers == {0, 5}


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "a")
    (tmp_path / "b").write_text("1. e4 e5")
    for path, kind in (
        (tmp_path / "a", "tune"),
        (tmp_path / "b", "match"),
        (tmp_path / "c", "match"),
    ):
        with pytest.raises(MatchFault, match="cannot be resumed"):
            read_journal(path, kind)


def test_a_place_where_nothing_can_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(MatchFault, match=r"no-folder/a can't be written: No such file"):
        written(tmp_path / "no-folder" / "a")
