"""The words of `go`, and the share of the clock that a move gets."""

import pytest

from rookery.engine.thinking import Allowance, Limits, allowance, parse_go


@pytest.mark.parametrize(
    ("words", "limits"),
    [
        ("", Limits()),
        ("nodes 500", Limits(nodes=500)),
        ("depth 7 movetime 20", Limits(depth=7, movetime=20)),
        ("wtime 1 btime 2 winc 3 binc 4", Limits(wtime=1, btime=2, winc=3, binc=4)),
        ("wtime -20 btime 5", Limits(wtime=-20, btime=5)),
        ("movestogo 3 mate 2", Limits(movestogo=3, mate=2)),
        ("infinite", Limits(infinite=True)),
        ("ponder wtime 9", Limits(ponder=True, wtime=9)),
        ("searchmoves e2e4 a7a8q depth 2", Limits(searchmoves=("e2e4", "a7a8q"), depth=2)),
        ("nodes many", Limits()),
    ],
)
def test_every_word_is_understood(words: str, limits: Limits) -> None:
    assert parse_go(words.split()) == limits


def test_without_a_clock_there_is_no_allowance() -> None:
    assert allowance(Limits(nodes=100), white=True, overhead_ms=30) is None


def test_each_side_has_its_own_clock() -> None:
    limits = Limits(wtime=60_000, btime=1_000)
    white, black = (allowance(limits, white=side, overhead_ms=30) for side in (True, False))
    assert white is not None
    assert black is not None
    assert white.hard > black.hard


def test_a_time_for_the_move_is_used_but_for_the_overhead() -> None:
    assert allowance(Limits(movetime=100), white=True, overhead_ms=20) == Allowance(0.08, 0.08)


@pytest.mark.parametrize("left", [-50, 0, 1, 20, 100, 1_000, 60_000])
@pytest.mark.parametrize("moves", [None, 1, 2, 40])
def test_a_move_never_takes_all_the_time_there_is(left: int, moves: int | None) -> None:
    limits = Limits(wtime=left, winc=10, movestogo=moves)
    time = allowance(limits, white=True, overhead_ms=30)
    assert time is not None
    assert time.soft <= time.hard <= max(0.001, (left - 30) / 1000)


def test_a_thousand_moves_at_the_limit_leave_a_reserve() -> None:
    clock = 1_000.0
    for _ in range(1_000):
        time = allowance(Limits(wtime=int(clock), winc=10), white=True, overhead_ms=30)
        assert time is not None
        clock += 10 - 1_000 * time.hard
    assert clock > 150
