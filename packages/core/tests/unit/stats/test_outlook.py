"""The outlook of a running SPRT, and the rough estimate of remaining work."""

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.stats.numbers import NELO_PER_SIGMA, StatisticsFault
from rookery.core.stats.outlook import (
    Belief,
    fixed_games_left,
    forecast,
    posterior,
    sprt_outlook,
    usual_prior,
)
from rookery.core.stats.sprt import Sprt
from rookery.core.stats.walk import GamesRange, length_at, pace_of
from tests.unit.stats.strategies import PROPERTY, bounds_within

SPEC = Sprt(0.0, 2.0)
PACE = pace_of(SPEC)


@pytest.mark.parametrize(
    ("elo0", "elo1", "mean"),
    [(0.0, 2.0, 0.0), (-1.75, 0.25, 0.0), (0.5, 2.5, 0.5), (-9.0, -7.0, -7.0)],
)
def test_the_usual_prior_lies_around_the_bounded_zero(
    elo0: float, elo1: float, mean: float
) -> None:
    assert usual_prior(Sprt(elo0, elo1)) == Belief(mean, 2.0)


def test_without_results_belief_stays() -> None:
    believed = posterior(PACE, Belief(1.0, 2.0), 0.0, 0)
    assert (believed.mean, believed.sigma) == pytest.approx((1.0, 2.0))


def test_many_results_overrule_the_prior() -> None:
    games = 1e9
    llr = PACE.walk(5.0).drift * games
    believed = posterior(PACE, Belief(-3.0, 2.0), llr, games)
    assert believed.mean == pytest.approx(5.0, abs=1e-3)
    assert believed.sigma == pytest.approx(NELO_PER_SIGMA / games**0.5, rel=1e-3)


def test_at_the_start_it_is_too_early() -> None:
    assert sprt_outlook(PACE, 0.0, 0).forecast is None
    assert sprt_outlook(PACE, 0.3, 2_000).forecast is None


def test_when_the_data_weigh_as_much_as_the_prior_there_is_an_answer() -> None:
    enough = (NELO_PER_SIGMA / 2.0) ** 2
    assert sprt_outlook(PACE, 0.3, 0.99 * enough).forecast is None
    assert sprt_outlook(PACE, 0.3, 1.01 * enough).forecast is not None


def test_close_to_a_bound_there_is_an_answer_early() -> None:
    near = sprt_outlook(PACE, 2.8, 10_000).forecast
    assert near is not None
    assert near.pass_chance > 0.99


def test_a_known_elo_is_forecast_as_its_length() -> None:
    known = forecast(PACE, Belief(0.5, 1e-9), 0.0)
    length = length_at(PACE, 0.5)
    assert known.pass_chance == pytest.approx(length.pass_chance)
    assert known.games_left.middle == pytest.approx(length.games.middle, rel=1e-4)


def test_doubt_pulls_the_chance_towards_the_middle() -> None:
    sure, doubtful = (forecast(PACE, Belief(2.0, sigma), 0.0) for sigma in (0.1, 2.0))
    assert 0.5 < doubtful.pass_chance < sure.pass_chance


def test_past_the_bound_nothing_is_left() -> None:
    passed, failed = (forecast(PACE, Belief(1.0, 1.0), llr) for llr in (3.0, -3.0))
    assert (passed.pass_chance, passed.games_left) == (1.0, GamesRange(0.0, 0.0, 0.0))
    assert (failed.pass_chance, failed.fail_chance) == (0.0, 1.0)


def test_a_limit_on_games_lets_a_test_end_undecided() -> None:
    limited = sprt_outlook(PACE, 0.5, 40_000, games_allowed=20_000).forecast
    assert limited is not None
    assert limited.pass_chance + limited.fail_chance < 0.5
    assert limited.games_left.late == 20_000


def test_a_limit_already_passed_leaves_no_games() -> None:
    spent = sprt_outlook(PACE, 0.5, 40_000, games_allowed=-5.0).forecast
    assert spent is not None
    assert (spent.pass_chance, spent.games_left.late) == (0.0, 0.0)


def test_another_prior_is_another_outlook() -> None:
    keen, doubtful = (
        sprt_outlook(PACE, 0.5, 40_000, prior=Belief(mean, 2.0)).forecast for mean in (4.0, -4.0)
    )
    assert keen is not None
    assert doubtful is not None
    assert keen.pass_chance > doubtful.pass_chance


@pytest.mark.parametrize(
    ("mean", "sigma"), [(0.0, 0.0), (0.0, -1.0), (0.0, float("nan")), (0.0, 1e300), (1e300, 1.0)]
)
def test_a_prior_off_the_scale_is_refused(mean: float, sigma: float) -> None:
    with pytest.raises(StatisticsFault, match="prior"):
        sprt_outlook(PACE, 0.5, 40_000, prior=Belief(mean, sigma))


@PROPERTY
@given(bounds=bounds_within(1000.0), llr=st.floats(-1e6, 1e6), games=st.integers(0, 10**7))
def test_any_state_has_a_finite_outlook(
    bounds: tuple[float, float], llr: float, games: int
) -> None:
    seen = sprt_outlook(pace_of(Sprt(*bounds)), llr, games)
    assert isfinite(seen.posterior.mean)
    assert isfinite(seen.games_left.late)
    if seen.forecast is not None:
        assert 0.0 <= seen.forecast.pass_chance <= 1.0


def test_fixed_games_count_down() -> None:
    assert fixed_games_left(games=400, num_games=1000) == 600
    assert fixed_games_left(games=1200, num_games=1000) == 0


def test_how_long_it_takes_is_told_before_any_chance_is() -> None:
    outlook = sprt_outlook(PACE, 0.1, 40)
    assert outlook.forecast is None
    assert 0 < outlook.games_left.early < outlook.games_left.middle < outlook.games_left.late


def test_the_range_is_the_same_once_the_chance_is_told() -> None:
    outlook = sprt_outlook(PACE, 1.4, 64_000)
    assert outlook.forecast is not None
    assert outlook.games_left == outlook.forecast.games_left
