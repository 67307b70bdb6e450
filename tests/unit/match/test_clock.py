"""Clocks, and what engines are told of them."""

import pytest

from rookery.match.clock import STALL_SECONDS, SideClock, go_line
from rookery.model.timecontrol import parse


def clock(text: str, margin_ms: int = 0) -> SideClock:
    return SideClock(parse(text), margin_ms)


def go(mover: str, other: str = "10+0.1") -> bytes:
    white = clock(mover)
    return go_line(white, white, clock(other))


def test_both_clocks_and_increments_are_told() -> None:
    assert go("10+0.1", "5+0.05") == b"go wtime 10100 winc 100 btime 5050 binc 50"


def test_moves_to_go_are_the_movers() -> None:
    assert go("40/60", "10") == b"go wtime 60000 btime 10000 movestogo 40"


@pytest.mark.parametrize(
    ("tc", "line"),
    [("N=25000", b"go nodes 25000"), ("D=9", b"go depth 9"), ("st=0.25", b"go movetime 250")],
)
def test_fixed_searches_need_no_clock(tc: str, line: bytes) -> None:
    assert go(tc) == line


def test_a_side_without_a_clock_is_left_out_of_the_others_line() -> None:
    assert go("10", "N=1000") == b"go wtime 10000"


def test_the_increment_is_there_from_the_first_move_on() -> None:
    side = clock("1+0.1")
    assert side.remaining_ms == 1100
    side.spend(0.3)
    assert side.remaining_ms == 900


def test_the_time_comes_again_after_so_many_moves() -> None:
    side = clock("2/1")
    side.spend(0.5)
    assert side.remaining_ms == 500
    side.spend(0.25)
    assert side.remaining_ms == 1250


def test_the_flag_falls_behind_the_margin() -> None:
    assert clock("1", margin_ms=50).overrun_ms(1.0509) == 0
    assert clock("1", margin_ms=50).overrun_ms(1.053) == 3


def test_time_borrowed_from_the_margin_is_not_owed() -> None:
    side = clock("1+0.1", margin_ms=50)
    side.spend(1.140)
    assert side.remaining_ms == 100


def test_a_move_time_has_its_flag_every_move() -> None:
    side = clock("MT=100", margin_ms=10)
    side.spend(0.1)
    assert side.overrun_ms(0.110) == 0
    assert side.overrun_ms(0.111) == 1


def test_fixed_nodes_end_by_a_stall_alone() -> None:
    side = clock("N=1000")
    assert side.allowed_ms is None
    assert side.overrun_ms(1000.0) == 0
    assert side.wait_seconds > STALL_SECONDS
