"""The unbiased Elo of an SPRT."""

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.stats.elo import WIDEST_ELO, SequentialElo, estimate_elo, live_elo
from rookery.stats.sprt import EloModel, Sprt
from tests.unit.stats.strategies import PROPERTY, any_bins, bounds_within
from tests.unit.stats.vectors import P_GAMES, P, Q


def numbers(live: SequentialElo) -> tuple[float, ...]:
    return live.elo, live.low, live.high, live.los, live.llr


@pytest.mark.parametrize(
    ("spec", "bins", "known"),
    [
        (
            Sprt(-3.0, 1.0, EloModel.BAYES),
            P,
            (-0.8982405741, -3.1720006290, 1.3540222690, 0.1896315176, 1.1611714687),
        ),
        (
            Sprt(-3.0, 1.0, EloModel.LOGISTIC),
            P,
            (-0.9925365595, -3.4884921313, 1.4885858955, 0.1880347931, 2.1310678118),
        ),
        (
            Sprt(-1.75, 0.25),
            P,
            (-0.7545069556, -2.0559571772, 0.5654208397, 0.1290909266, -0.6271679157),
        ),
        (
            Sprt(0.764, 3.439),
            Q,
            (0.8651598535, 0.1682713525, 1.5405826879, 0.9919993675, 2.1629408696),
        ),
    ],
)
def test_known_results_give_the_known_live_elo(
    spec: Sprt, bins: tuple[int, ...], known: tuple[float, ...]
) -> None:
    assert numbers(live_elo(spec, bins, P_GAMES)) == pytest.approx(known, abs=1e-9)


def test_a_test_that_just_passed_shows_less_than_the_plain_estimate() -> None:
    bins = (50, 400, 1000, 540, 70)
    live = live_elo(Sprt(0.0, 10.0), bins)
    assert live.llr > live.upper_bound
    assert 0.0 < live.elo < estimate_elo(bins).elo


def test_only_wins_reach_the_upper_end_of_the_scale() -> None:
    live = live_elo(Sprt(0.0, 2.0), (0, 0, 0, 0, 10**7))
    assert (live.elo, live.los) == (WIDEST_ELO, 1.0)


def test_only_losses_reach_the_lower_end_of_the_scale() -> None:
    live = live_elo(Sprt(0.0, 2.0), (10**7, 0, 0, 0, 0))
    assert (live.elo, live.los) == (-WIDEST_ELO, 0.0)


def test_no_results_leave_everything_open() -> None:
    live = live_elo(Sprt(0.0, 2.0), (0, 0, 0, 0, 0))
    assert live.elo == pytest.approx(0.0, abs=1e-6)
    assert (live.low, live.high) == (-WIDEST_ELO, WIDEST_ELO)
    assert live.los == pytest.approx(0.5)


def test_nothing_but_draws_is_mastered_in_bayes_elo() -> None:
    live = live_elo(Sprt(0.0, 2.0, EloModel.BAYES), (0, 10**12, 0))
    assert all(map(isfinite, numbers(live)))


@PROPERTY
@given(
    bins=any_bins,
    bounds=bounds_within(1000.0),
    model=st.sampled_from(EloModel),
    alpha=st.sampled_from([1e-9, 0.05, 0.4]),
)
def test_the_interval_holds_the_elo_whatever_the_results(
    bins: tuple[int, ...], bounds: tuple[float, float], model: EloModel, alpha: float
) -> None:
    live = live_elo(Sprt(*bounds, model, alpha=alpha), bins)
    assert all(map(isfinite, numbers(live)))
    assert live.low - 1e-6 <= live.elo <= live.high + 1e-6
    assert 0.0 <= live.los <= 1.0
