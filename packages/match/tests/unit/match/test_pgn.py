"""Games as PGN, and resume files."""

import io
from pathlib import Path

import chess.pgn
import pytest

from rookery.match.job import GameResult, MatchFault, PlayedMove, Termination
from rookery.match.pgn import JournalEntry, JournalHeader, JournalWriter, pgn_text, read_journal
from rookery.match.results import pair_score_of
from tests.unit.match.games import game, pair


def read(text: str) -> chess.pgn.Game:
    found = chess.pgn.read_game(io.StringIO(text))
    assert found is not None
    assert not found.errors
    return found


def opened() -> GameResult:
    return game(
        "0-1",
        book_moves=("e2e4", "e7e5"),
        moves=(PlayedMove("g1f3", "+0.25", 8, 4711, 0.012), PlayedMove("b8c6")),
        termination=Termination.TIME,
        reason="White loses on time",
    )


def test_another_program_reads_the_same_moves() -> None:
    found = read(pgn_text(opened(), [("Event", 'a "quoted" name')]))
    assert [move.uci() for move in found.mainline_moves()] == ["e2e4", "e7e5", "g1f3", "b8c6"]
    assert found.headers["Event"] == r"a \"quoted\" name"
    assert found.headers["Result"] == "0-1"
    assert found.headers["Termination"] == "time forfeit"


def test_the_seven_tags_come_first_and_in_their_order() -> None:
    text = pgn_text(opened(), [("WhiteCommand", "./a"), ("Round", "1.1"), ("Event", "a vs b")])
    found = [line[1:].partition(" ")[0] for line in text.splitlines() if line.startswith("[")]
    assert found[:7] == ["Event", "Site", "Date", "Round", "White", "Black", "Result"]
    assert "WhiteCommand" in found[7:]


def test_comments_say_score_depth_time_and_nodes() -> None:
    comments = [node.comment for node in read(pgn_text(opened())).mainline()]
    assert comments[:3] == ["book", "book", "+0.25/8 0.012s, n=4711"]


def test_how_the_game_ended_is_the_last_word() -> None:
    assert "{White loses on time} 0-1" in " ".join(pgn_text(opened()).split())


def test_no_line_is_longer_than_eighty_columns() -> None:
    moves = tuple(PlayedMove(move, "+0.00", 1, 1) for move in ("g1f3", "g8f6", "f3g1", "f6g8") * 30)
    assert max(map(len, pgn_text(game(moves=moves)).splitlines())) <= 80


def test_a_game_of_fischer_random_keeps_its_position() -> None:
    fen = "4k3/8/8/8/8/8/8/5KR1 w K - 0 1"
    found = read(pgn_text(game(fen=fen, moves=(PlayedMove("f1g1"),), chess960=True)))
    assert [move.uci() for move in found.mainline_moves()] == ["f1g1"]


def test_black_to_move_is_numbered_as_such() -> None:
    fen = "4k3/4p3/8/8/8/8/4P3/4K3 b - - 0 7"
    assert "7... e6" in pgn_text(game(fen=fen, moves=(PlayedMove("e7e6"),)))


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
