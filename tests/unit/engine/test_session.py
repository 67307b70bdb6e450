"""The conversation: what UCI promises, also during a search."""

import pytest

from rookery.engine.session import Session
from tests.unit.engine.table import conversation, spoken, thought


def test_it_introduces_itself() -> None:
    said = conversation("uci")
    assert said[0].startswith("id name Fledgling ")
    assert said[-1] == "uciok"


def test_it_is_ready() -> None:
    assert conversation("isready", "ucinewgame", "isready") == ["readyok", "readyok"]


def test_what_it_does_not_know_it_passes_over() -> None:
    assert conversation("xyzzy", "debug on", "register later", "stop", "ponderhit") == []


def test_a_search_ends_with_a_move() -> None:
    assert conversation("position startpos", "go depth 1")[-1].startswith("bestmove ")


def test_it_stops_when_told() -> None:
    said = conversation("go infinite", "stop", "isready")
    assert [line.split()[0] for line in said[-2:]] == ["bestmove", "readyok"]


def test_it_is_ready_during_a_search_too() -> None:
    said = conversation("go infinite", "isready", "stop")
    assert said[0] == "readyok"
    assert said[-1].startswith("bestmove ")


def test_quitting_ends_a_search() -> None:
    assert conversation("go infinite")[-1].startswith("bestmove ")


def test_what_comes_too_early_is_kept_until_after_the_search() -> None:
    with spoken("position startpos", "isready", "go depth 1") as inbox:
        said: list[str] = []
        Session(inbox, said.append).obey("go depth 2")
        assert (said[0], said[-1].split()[0]) == ("readyok", "bestmove")
        assert [inbox.wait(), inbox.wait()] == ["position startpos", "go depth 1"]


def test_pondering_waits_for_the_hit() -> None:
    said = conversation("go ponder depth 1", "isready", "ponderhit")
    assert said[-1].startswith("bestmove ")


def test_after_a_hit_the_clock_counts() -> None:
    said = conversation("go ponder wtime 100 btime 100", "ponderhit", "isready")
    assert said[-1].startswith("bestmove ")


def test_a_wrong_option_is_told_and_changes_nothing() -> None:
    assert conversation("setoption name Contempt value 3") == [
        "info string option Contempt not set: Contempt"
    ]


def test_a_wrong_position_is_told() -> None:
    (said,) = conversation("position startpos moves e2e5")
    assert said.startswith("info string position not set: ")


@pytest.mark.parametrize("clock", ["wtime 1 btime 1", "wtime -5 btime -5 winc 10 binc 10"])
def test_without_time_it_still_moves(clock: str) -> None:
    assert thought("startpos", clock)[-1].startswith("bestmove ")


def test_a_forced_move_takes_no_time() -> None:
    said = thought("fen 7k/8/8/8/8/8/6q1/7K w - - 0 1", "wtime 600000 btime 600000")
    assert [line.split()[2] for line in said[:-1]] == ["1"]


def test_castling_is_written_as_the_variant_wants() -> None:
    position = "fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    standard = thought(position, "depth 1 searchmoves e1g1")
    shuffled = thought(
        position, "depth 1 searchmoves e1h1", "setoption name UCI_Chess960 value true"
    )
    assert (standard[-1], shuffled[-1]) == ("bestmove e1g1", "bestmove e1h1")
