"""Clocks, what engines are told of them, and the runner's own lateness."""

import pytest

from rookery.core.model.timecontrol import parse
from rookery.match.clock import (
    LATE_SLACK_SECONDS,
    STALL_SECONDS,
    Latency,
    SideClock,
    SpentTime,
    go_line,
    spent_time,
)


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


ASKED = 100.0


def test_an_answer_read_at_once_is_charged_until_it_was_read() -> None:
    time = spent_time(ASKED, read_at=101.000, written_at=100.999)
    assert time.charged == pytest.approx(1.0)
    assert time.late == 0.0


def test_what_the_answer_lay_in_its_pipe_is_not_charged() -> None:
    time = spent_time(ASKED, read_at=101.250, written_at=101.0)
    assert time.charged == pytest.approx(1.0 + LATE_SLACK_SECONDS)
    assert time.late == pytest.approx(0.25 - LATE_SLACK_SECONDS)


def test_the_flag_has_the_benefit_of_the_doubt() -> None:
    time = spent_time(ASKED, read_at=101.005, written_at=101.0)
    assert time.least == pytest.approx(1.0)
    assert time.charged == pytest.approx(1.005)


@pytest.mark.parametrize("written_at", [None, 0.0, 99.9, 101.001])
def test_a_stamp_that_cannot_be_the_answers_says_nothing(written_at: float | None) -> None:
    assert spent_time(ASKED, 101.0, written_at) == SpentTime(1.0, 1.0, 1.0)


def test_a_stamp_may_be_a_step_early() -> None:
    time = spent_time(ASKED, read_at=100.5, written_at=99.996)
    assert time.least == 0.0
    assert time.charged == pytest.approx(LATE_SLACK_SECONDS - 0.004)


def test_no_move_takes_longer_than_until_it_was_read() -> None:
    for step in range(200):
        time = spent_time(ASKED, 100.1, 100 + step / 1000)
        assert 0.0 <= time.least <= time.charged <= time.read


def measured(*seconds: float) -> Latency:
    latency = Latency.fresh()
    for one in seconds:
        latency.add_turnaround(one)
        latency.add_lag(one)
    return latency


def test_quantiles_are_fine_enough_for_milliseconds() -> None:
    latency = measured(*[0.001] * 98, 0.05, 0.05)
    assert latency.turnaround.quantile(0.5) == pytest.approx(0.001, rel=0.5)
    assert latency.lag.quantile(0.99) == pytest.approx(0.05, rel=0.5)


def test_processes_add_up() -> None:
    both = measured(0.001) + measured(0.002, 0.003)
    assert both.turnaround.count == 3
    assert both.lag.total_seconds == pytest.approx(0.006)


def test_waking_early_is_not_negative() -> None:
    assert measured(-0.001).lag.total_seconds == 0.0


def test_late_answers_are_counted_and_add_up() -> None:
    one, other = Latency.fresh(), Latency.fresh()
    one.add_answer(0.0, spared=False)
    one.add_answer(0.02, spared=True)
    other.add_answer(0.03, spared=False)
    both = one + other
    assert (both.late_answers, both.flags_spared) == (2, 1)
    assert both.late_seconds == pytest.approx(0.05)
