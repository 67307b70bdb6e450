"""Likelihood ratios: known results, a general optimiser as the oracle, and what always holds."""

from collections.abc import Callable, Sequence
from math import inf, isfinite, log, sqrt

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from rookery.core.stats.likelihood import (
    _refined,
    _shares,
    bayes_ratio,
    logistic_ratio,
    normalised_elo,
    normalised_ratio,
    pairing_gain,
    shares_at,
    tilt_of_five_to_sigmas,
    unpaired,
)
from rookery.core.stats.numbers import (
    NELO_PER_SIGMA,
    PENTANOMIAL,
    StatisticsFault,
    moments,
    regularised,
    score_of,
    values_of,
)
from tests.unit.stats.strategies import PROPERTY, any_bins, bounds_within, moderate_bins
from tests.unit.stats.vectors import P_GAMES, P, Q

Vector = npt.NDArray[np.float64]
Ratio = Callable[[Sequence[int], float, float], float]
RATIOS = pytest.mark.parametrize("ratio", [logistic_ratio, normalised_ratio])


@pytest.mark.parametrize(
    ("ratio", "bins", "bounds", "known"),
    [
        (logistic_ratio, P, (-3.0, 1.0), 2.1310678118),
        (logistic_ratio, Q, (0.2, 0.9), 2.1625425800),
        (normalised_ratio, P, (-1.75, 0.25), -0.6271679157),
        (normalised_ratio, Q, (0.764, 3.439), 2.1629408696),
        (normalised_ratio, (10, 50, 120, 70, 14), (0.0, 2.0), 0.2422723403),
        (normalised_ratio, (0, 0, 16, 0, 0), (0.0, 2.0), -0.0005774952),
        (normalised_ratio, (1, 3, 8, 3, 1), (0.0, 2.0), -0.0005301907),
        (normalised_ratio, P_GAMES, (0.0, 2.0), -5.9752875890),
    ],
)
def test_known_results_give_the_known_ratio(
    ratio: Ratio, bins: Sequence[int], bounds: tuple[float, float], known: float
) -> None:
    assert ratio(bins, *bounds) == pytest.approx(known, abs=1e-9)


def test_bayes_elo_takes_its_draws_from_the_single_games() -> None:
    assert bayes_ratio(P, -3.0, 1.0, P_GAMES) == pytest.approx(1.1611714687, abs=1e-9)


def test_pairs_without_single_games_count_even_pairs_as_draws() -> None:
    assert unpaired((1, 2, 3, 4, 5)) == (4, 12, 14)
    assert bayes_ratio(Q, 0.0, 5.0) == bayes_ratio(Q, 0.0, 5.0, unpaired(Q))


def test_single_games_of_five_bins_are_refused() -> None:
    with pytest.raises(StatisticsFault, match="3 counts"):
        bayes_ratio(P, -3.0, 1.0, P)


@pytest.mark.parametrize("bins", [P, Q, (10, 50, 120, 70, 14), (300, 500, 250)])
def test_the_normalised_ratio_is_close_to_its_approximation(bins: Sequence[int]) -> None:
    counted = moments(bins)
    t = (counted.mean - 0.5) / counted.sigma_per_game
    t0, t1 = 0.0, 2.0 / NELO_PER_SIGMA
    close = counted.games / 2.0 * log((1.0 + (t - t0) ** 2) / (1.0 + (t - t1) ** 2))
    assert normalised_ratio(bins, 0.0, 2.0) == pytest.approx(close, rel=0.02)


def best_likelihood(bins: Sequence[int], off_target: Callable[[Vector], float]) -> float:
    """Return the log-likelihood of the best distribution that meets a target, by a general
    method."""
    counts = np.array(regularised(bins))

    def unlikelihood(shares: Vector) -> float:
        return -float(counts @ np.log(shares)) / float(counts.sum())

    def off_one(shares: Vector) -> float:
        return float(shares.sum()) - 1.0

    found = optimize.minimize(
        unlikelihood,
        np.full(len(bins), 1.0 / len(bins), dtype=np.float64),
        bounds=[(1e-9, 1.0)] * len(bins),
        constraints=[{"type": "eq", "fun": off_one}, {"type": "eq", "fun": off_target}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return -float(found.fun) * float(counts.sum())


def best_at_mean(bins: Sequence[int], elo: float) -> float:
    values = np.array(values_of(bins))
    return best_likelihood(bins, lambda shares: float(shares @ values) - score_of(elo))


def best_at_sigmas(bins: Sequence[int], nelo: float) -> float:
    values = np.array(values_of(bins))

    def off_target(shares: Vector) -> float:
        mean = float(shares @ values)
        sigma = sqrt(float(shares @ (values - mean) ** 2) * (len(bins) // 2))
        return (mean - 0.5) / sigma - nelo / NELO_PER_SIGMA

    return best_likelihood(bins, off_target)


@pytest.mark.parametrize("bins", [(10, 50, 120, 70, 14), (300, 500, 250), (3, 20, 40, 30, 9)])
@pytest.mark.parametrize(
    ("ratio", "best"), [(logistic_ratio, best_at_mean), (normalised_ratio, best_at_sigmas)]
)
def test_a_general_optimiser_finds_the_same_ratio(
    bins: Sequence[int], ratio: Ratio, best: Callable[[Sequence[int], float], float]
) -> None:
    assert ratio(bins, 0.0, 20.0) == pytest.approx(best(bins, 20.0) - best(bins, 0.0), abs=1e-5)


def test_the_shares_at_an_elo_have_that_elo() -> None:
    counted = moments([round(10**9 * share) for share in shares_at((10, 230, 520, 230, 10), 7.0)])
    nelo = (counted.mean - 0.5) / counted.sigma_per_game * NELO_PER_SIGMA
    assert nelo == pytest.approx(7.0, abs=1e-4)


@RATIOS
@PROPERTY
@given(bins=any_bins, bounds=bounds_within(1000.0))
def test_mirrored_results_and_bounds_negate_the_ratio(
    ratio: Ratio, bins: tuple[int, ...], bounds: tuple[float, float]
) -> None:
    there, back = ratio(bins, *bounds), ratio(bins[::-1], -bounds[1], -bounds[0])
    assert isfinite(there)
    assert there == pytest.approx(-back, rel=1e-6, abs=1e-6)


@PROPERTY
@given(bins=any_bins, bounds=bounds_within(1000.0))
def test_a_double_win_never_lowers_the_logistic_ratio(
    bins: tuple[int, ...], bounds: tuple[float, float]
) -> None:
    before = logistic_ratio(bins, *bounds)
    better, worse = (*bins[:-1], bins[-1] + 1), (bins[0] + 1, *bins[1:])
    slack = 1e-9 * (1.0 + abs(before))
    assert (
        logistic_ratio(worse, *bounds) - slack <= before <= logistic_ratio(better, *bounds) + slack
    )


@PROPERTY
@given(bins=moderate_bins, bounds=bounds_within(10.0))
def test_a_double_win_never_lowers_the_normalised_ratio_of_usual_bounds(
    bins: tuple[int, ...], bounds: tuple[float, float]
) -> None:
    before = normalised_ratio(bins, *bounds)
    better, worse = (*bins[:-1], bins[-1] + 1), (bins[0] + 1, *bins[1:])
    slack = 1e-9 * (1.0 + abs(before))
    assert normalised_ratio(worse, *bounds) - slack <= before
    assert before <= normalised_ratio(better, *bounds) + slack


@RATIOS
@PROPERTY
@given(bins=moderate_bins, bounds=bounds_within(10.0))
def test_neighbouring_intervals_add_up(
    ratio: Ratio, bins: tuple[int, ...], bounds: tuple[float, float]
) -> None:
    low, high = bounds
    middle = (low + high) / 2.0
    parts = ratio(bins, low, middle) + ratio(bins, middle, high)
    assert ratio(bins, low, high) == pytest.approx(parts, rel=1e-6, abs=1e-6)


@RATIOS
@PROPERTY
@given(bins=moderate_bins, bounds=bounds_within(10.0))
def test_ten_times_the_results_say_ten_times_as_much(
    ratio: Ratio, bins: tuple[int, ...], bounds: tuple[float, float]
) -> None:
    full = tuple(count + 1 for count in bins)
    tenfold = ratio(tuple(10 * count for count in full), *bounds)
    assert tenfold == pytest.approx(10.0 * ratio(full, *bounds), rel=1e-6, abs=1e-6)


@RATIOS
@pytest.mark.parametrize(
    "bins",
    [
        (0, 0, 0),
        (0, 0, 0, 0, 0),
        (10**7, 0, 0, 0, 0),
        (0, 10**7, 0, 0, 0),
        (0, 0, 10**7, 0, 0),
        (0, 0, 0, 0, 10**7),
        (0, 10**7, 0),
        (10**12, 0, 0, 0, 1),
    ],
)
@pytest.mark.parametrize("bounds", [(0.0, 2.0), (-1000.0, 1000.0), (999.0, 1000.0), (-1e9, 1e9)])
def test_nothing_makes_the_ratio_anything_but_a_number(
    ratio: Ratio, bins: tuple[int, ...], bounds: tuple[float, float]
) -> None:
    assert -inf < ratio(bins, *bounds) < inf


def test_no_results_say_nothing() -> None:
    assert normalised_ratio((0, 0, 0, 0, 0), 0.0, 2.0) == pytest.approx(0.0, abs=1e-6)


COUNTS = st.one_of(st.just(0), st.integers(0, 40), st.integers(0, 10**6))
TARGETS = st.floats(-0.1, 0.1).filter(bool) | st.floats(-100.0, 100.0).filter(bool)


@PROPERTY
@given(st.tuples(*[COUNTS] * 5), TARGETS)
def test_both_ways_find_the_very_same_tilt(bins: tuple[int, ...], target: float) -> None:
    shares = _shares(regularised(bins))
    found = tilt_of_five_to_sigmas(shares, target)
    if found is not None:
        tilt, slopes = _refined(shares, PENTANOMIAL, target)
        assert found == (tilt, tuple(slopes))


def test_a_target_too_far_for_the_usual_start_is_left_to_the_loops() -> None:
    assert tilt_of_five_to_sigmas((0.2,) * 5, 100.0) is None


def test_an_even_score_has_no_normalised_elo() -> None:
    assert normalised_elo((10, 20, 30, 20, 10)).nelo == pytest.approx(0.0)


def test_near_zero_the_interval_depends_on_games_alone() -> None:
    """Two sigmas of 10,000 games are 1.96 * 347.4356 / 100."""
    assert normalised_elo((1, 1000, 2998, 1000, 1)).half_width == pytest.approx(6.8096, abs=1e-3)
    assert normalised_elo((600, 1500, 800, 1500, 600)).half_width == pytest.approx(6.8096, abs=1e-3)


def test_for_a_sigma_of_one_half_both_scales_agree_on_small_elo() -> None:
    assert normalised_elo((4990, 0, 5010)).nelo == pytest.approx(0.69487, abs=1e-4)


def test_pairing_that_changes_nothing_gains_nothing() -> None:
    gain = pairing_gain((2500, 5000, 2500), (6250, 25000, 37500, 25000, 6250))
    assert gain.games_saved == pytest.approx(0.0, abs=1e-9)


def test_pairs_that_cancel_the_opening_save_games() -> None:
    assert pairing_gain(P_GAMES, P).games_saved == pytest.approx(0.0575, abs=1e-3)


@PROPERTY
@given(bins=any_bins)
def test_whatever_the_results_normalised_elo_is_finite(bins: tuple[int, ...]) -> None:
    found = normalised_elo(bins)
    assert isfinite(found.nelo)
    assert isfinite(found.half_width)
