"""An SPRT's state and bounds, the colour of a finished test, what other bounds would have said."""

from itertools import accumulate

import pytest

from rookery.core.stats.numbers import StatisticsFault
from rookery.core.stats.sprt import (
    EloModel,
    Overshoot,
    Sprt,
    SprtState,
    Verdict,
    fixed_verdict,
    replay_with_bounds,
)
from tests.unit.stats.vectors import BATCHES

SPEC = Sprt(0.0, 2.0, batch_size=16)
NAN, INF = float("nan"), float("inf")


def state_after(*results: tuple[int, ...], spec: Sprt = SPEC) -> SprtState:
    return list(accumulate(results, lambda s, bins: s.after(spec, bins), initial=SprtState()))[-1]


def test_equal_bounds_are_refused_by_name() -> None:
    with pytest.raises(StatisticsFault, match="elo1 must exceed elo0"):
        Sprt(1.0, 1.0)


def test_reversed_bounds_are_refused() -> None:
    with pytest.raises(StatisticsFault, match="elo1 must exceed elo0"):
        Sprt(2.0, 0.0)


@pytest.mark.parametrize("bound", [NAN, INF, -INF, 1000.1])
def test_bounds_off_the_scale_are_refused(bound: float) -> None:
    with pytest.raises(StatisticsFault, match="between -1000 and 1000"):
        Sprt(0.0, bound)


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 0.05), (0.05, -1), (0.5, 0.5), (NAN, 0.05)])
def test_impossible_error_rates_are_refused(alpha: float, beta: float) -> None:
    with pytest.raises(StatisticsFault, match="alpha and beta"):
        Sprt(0.0, 2.0, alpha=alpha, beta=beta)


def test_a_batch_of_no_pairs_is_refused() -> None:
    with pytest.raises(StatisticsFault, match="batch size"):
        Sprt(0.0, 2.0, batch_size=0)


def test_the_usual_error_rates_give_the_usual_bounds() -> None:
    assert (SPEC.lower, SPEC.upper) == pytest.approx((-2.9444389792, 2.9444389792), abs=1e-9)


def test_alpha_moves_the_upper_bound_and_beta_the_lower() -> None:
    strict = Sprt(0.0, 2.0, alpha=0.01, beta=0.1)
    assert strict.upper == pytest.approx(4.4998096703, abs=1e-9)
    assert strict.lower == pytest.approx(-2.2925347571, abs=1e-9)


def test_each_batch_gives_the_known_ratio() -> None:
    llrs = [state_after(*BATCHES[: n + 1]).llr for n in range(4)]
    assert llrs == pytest.approx([-0.00053019, 0.02564721, 0.08661000, 0.11700220], abs=1e-8)


def test_four_batches_leave_the_known_overshoot_record() -> None:
    state = state_after(*BATCHES)
    assert state.verdict is Verdict.RUNNING
    record = state.overshoot
    assert record is not None
    assert (record.last_update, record.skipped_updates) == (64, 0)
    assert record.ref0 == record.m0 == pytest.approx(-0.00053019, abs=1e-8)
    assert record.sq0 == pytest.approx(2.8110e-07, abs=1e-11)
    assert record.ref1 == record.m1 == pytest.approx(0.11700220, abs=1e-8)
    assert record.sq1 == pytest.approx(0.00529793, abs=1e-8)


def test_the_overshoot_moves_both_bounds_inwards() -> None:
    lower, upper = state_after(*BATCHES).bounds(SPEC)
    assert lower == pytest.approx(SPEC.lower + 2.8110e-07 / (2 * 0.00053019), abs=1e-8)
    assert upper == pytest.approx(SPEC.upper - 0.00529793 / (2 * 0.11700220), abs=1e-7)


def test_a_repeated_update_changes_nothing() -> None:
    assert state_after(*BATCHES, BATCHES[-1]) == state_after(*BATCHES)


def test_two_batches_at_once_restart_the_record_and_are_counted() -> None:
    state = state_after(BATCHES[0], BATCHES[2])
    record = state.overshoot
    assert record is not None
    assert record.skipped_updates == 31
    assert record.ref0 == record.ref1 == state.llr


def test_results_taken_away_drop_the_record_for_good() -> None:
    state = state_after(*BATCHES, BATCHES[0], BATCHES[1])
    assert state.overshoot is None
    assert state.lost_samples == 48
    assert state.bounds(SPEC) == (SPEC.lower, SPEC.upper)


def test_a_part_of_a_batch_keeps_the_record_and_adds_its_own_jump() -> None:
    before, state = state_after(BATCHES[0]), state_after(BATCHES[0], (1, 3, 8, 3, 2))
    record = state.overshoot
    assert before.overshoot
    assert record
    assert (record.last_update, record.skipped_updates) == (17, 0)
    jump = state.llr - before.overshoot.ref1
    assert jump > 0
    assert record.m1 == pytest.approx(before.overshoot.m1 + jump)
    assert record.sq1 == pytest.approx(before.overshoot.sq1 + jump * jump)


def test_strong_results_are_accepted() -> None:
    assert state_after((0, 0, 0, 0, 800)).verdict is Verdict.ACCEPTED


def test_weak_results_are_rejected() -> None:
    assert state_after((800, 0, 0, 0, 0)).verdict is Verdict.REJECTED


def test_the_record_can_decide_before_the_plain_bound_is_reached() -> None:
    record = Overshoot(last_update=240, ref1=2.0, m1=2.0, sq1=4.0)
    bins = (10, 40, 100, 90, 16)
    state = SprtState(overshoot=record).after(Sprt(0.0, 12.0, batch_size=16), bins)
    assert state.verdict is Verdict.ACCEPTED
    assert state.llr < SPEC.upper


@pytest.mark.parametrize(
    ("bounds", "games"),
    [((0, 2), 728), ((0, 5), 294), ((0, 10), 148), ((0, 20), 76), ((0, 50), 34)],
)
def test_even_a_perfect_score_needs_its_games(bounds: tuple[int, int], games: int) -> None:
    spec = Sprt(*bounds)
    assert spec.log_ratio((0, 0, 0, 0, games // 2)) > spec.upper
    assert spec.log_ratio((0, 0, 0, 0, games // 2 - 1)) <= spec.upper


def test_the_models_are_spelled_as_on_the_wire() -> None:
    assert [model.value for model in EloModel] == ["logistic", "normalized", "BayesElo"]


@pytest.mark.parametrize(
    ("los", "verdict"),
    [
        (0.951, Verdict.ACCEPTED),
        (0.95, Verdict.RUNNING),
        (0.05, Verdict.RUNNING),
        (0.049, Verdict.REJECTED),
    ],
)
def test_a_fixed_test_is_decided_by_its_superiority(los: float, verdict: Verdict) -> None:
    assert fixed_verdict(los) is verdict


HISTORY = [(2, 11, 27, 19, 5), (4, 40, 110, 80, 22), (6, 60, 180, 150, 44), (9, 99, 260, 160, 50)]


def test_the_first_crossing_would_have_ended_the_test() -> None:
    seen = replay_with_bounds(Sprt(0.0, 20.0), HISTORY)
    assert (seen.ending, seen.samples) == (Verdict.ACCEPTED, 256)


def test_without_a_crossing_the_last_results_count() -> None:
    seen = replay_with_bounds(Sprt(0.0, 1.0), HISTORY)
    assert (seen.ending, seen.samples) == (Verdict.RUNNING, 578)
    assert seen.llr == Sprt(0.0, 1.0).log_ratio(HISTORY[-1])


def test_no_history_says_nothing() -> None:
    assert replay_with_bounds(Sprt(0.0, 1.0), []).samples == 0
