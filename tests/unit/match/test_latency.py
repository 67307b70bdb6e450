"""The runner's own lateness."""

import pytest

from rookery.match.clock import Latency


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
