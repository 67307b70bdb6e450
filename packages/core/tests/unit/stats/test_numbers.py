"""Distributions, roots, Elo scales and counted results; scipy is the oracle."""

from math import cos, tanh

import pytest
from scipy import special

from rookery.core.stats.numbers import (
    NELO_PER_SIGMA,
    Z95,
    StatisticsFault,
    cdf,
    elo_of,
    games_in,
    grown_tail,
    moments,
    quantile,
    regularised,
    root,
    scaled_tail,
    score_of,
    sum_in_order,
    upper_quantile,
    upper_tail,
)


@pytest.mark.parametrize("z", [-37.0, -20.0, -8.0, -3.0, -0.1, 0.0, 0.7, 2.0, 6.0, 12.0])
def test_the_cdf_is_exact_into_the_tails(z: float) -> None:
    assert cdf(z) == pytest.approx(float(special.ndtr(z)), rel=1e-12, abs=0.0)


@pytest.mark.parametrize("p", [1e-290, 1e-100, 1e-20, 1e-5, 0.025, 0.3, 0.5, 0.9, 0.999, 1 - 1e-12])
def test_the_quantile_is_exact_into_the_tails(p: float) -> None:
    assert quantile(p) == pytest.approx(float(special.ndtri(p)), rel=1e-12, abs=1e-12)


def test_the_quantile_of_nothing_and_of_everything_is_finite() -> None:
    assert quantile(0.0) < -37.0
    assert quantile(1.0) > 8.0


@pytest.mark.parametrize("log_tail", [0.0, -0.5, -30.0, -689.0, -691.0, -5e3, -1e6])
def test_the_upper_quantile_reaches_where_probabilities_underflow(log_tail: float) -> None:
    z = upper_quantile(log_tail)
    assert float(special.log_ndtr(-z)) == pytest.approx(log_tail, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("z", [0.0, 1.0, 10.0, 24.9, 25.1, 60.0, 1e4])
def test_the_scaled_tail_never_underflows(z: float) -> None:
    oracle = float(special.erfcx(z / 2**0.5)) / 2.0
    assert scaled_tail(z) == pytest.approx(oracle, rel=1e-12)


def test_a_sum_is_the_same_on_every_python() -> None:
    assert sum_in_order([0.1] * 10) == 0.9999999999999999


def test_a_huge_factor_and_a_tiny_tail_make_an_ordinary_product() -> None:
    assert grown_tail(5000.0, 100.0) == pytest.approx(scaled_tail(100.0))


def test_a_factor_with_most_of_the_distribution_is_their_product() -> None:
    assert grown_tail(-2.0, -1.0) == pytest.approx(float(special.ndtr(1.0)) * 0.1353352832366127)


def test_the_interval_is_the_usual_one() -> None:
    assert pytest.approx(1.959963984540054, abs=1e-15) == Z95


@pytest.mark.parametrize("degrees", [2, 4, 20, 200, 20_000])
@pytest.mark.parametrize("ratio", [0.1, 0.9, 1.0, 1.1, 3.0])
def test_the_upper_tail_is_exact(degrees: int, ratio: float) -> None:
    value = degrees * ratio
    oracle = float(special.chdtrc(degrees, value))
    assert upper_tail(value, degrees) == pytest.approx(oracle, rel=1e-9, abs=1e-13)


def test_everything_exceeds_nothing() -> None:
    assert upper_tail(0.0, 4) == 1.0


def test_an_absurd_value_is_never_exceeded() -> None:
    assert upper_tail(1e9, 4) == 0.0


def test_a_crossing_is_found_to_the_last_digits() -> None:
    assert root(lambda x: cos(x) - x, 0.0, 1.0) == pytest.approx(0.7390851332151607, abs=1e-14)


def test_a_flat_function_with_a_sudden_step_is_mastered() -> None:
    assert root(lambda x: tanh(1e3 * (x - 0.3)), -50.0, 9.0) == pytest.approx(0.3)


def test_the_order_of_signs_does_not_matter() -> None:
    assert root(lambda x: 2.0 - x, -10.0, 10.0) == root(lambda x: x - 2.0, -10.0, 10.0) == 2.0


def test_a_root_at_an_end_is_found() -> None:
    assert root(lambda x: x, 0.0, 5.0) == pytest.approx(0.0, abs=1e-13)


def test_a_coarse_answer_costs_fewer_calls() -> None:
    def calls(within: float) -> int:
        asked: list[float] = []

        def function(x: float) -> float:
            asked.append(x)
            return x**3 - 700.0

        root(function, 0.0, 100.0, within=within)
        return len(asked)

    assert calls(within=0.5) < calls(within=1e-14)


def test_an_even_score_is_no_elo() -> None:
    assert elo_of(0.5) == 0.0
    assert score_of(0.0) == 0.5


@pytest.mark.parametrize("elo", [-400.0, -1.5, 3.0, 191.0])
def test_score_and_elo_undo_each_other(elo: float) -> None:
    assert elo_of(score_of(elo)) == pytest.approx(elo)


def test_four_hundred_elo_are_ten_to_one() -> None:
    assert score_of(400.0) == pytest.approx(10 / 11)


def test_lopsided_scores_stop_at_the_end_of_the_scale() -> None:
    assert elo_of(1.0) == elo_of(0.9999) == pytest.approx(1199.826195, abs=1e-6)


def test_absurd_elo_does_not_overflow() -> None:
    assert 0.0 < score_of(-1e300) < score_of(1e300) < 1.0


def test_a_sigma_of_normalised_elo_is_the_known_constant() -> None:
    assert pytest.approx(347.4356, abs=1e-4) == NELO_PER_SIGMA


def test_an_empty_bin_counts_as_a_thousandth() -> None:
    assert regularised((0, 2, 0)) == [0.001, 2.0, 0.001]


def test_the_mean_of_pairs_is_their_score() -> None:
    assert moments((1, 1, 1, 1, 1)).mean == pytest.approx(0.5)


def test_the_variance_is_that_of_one_sample() -> None:
    assert moments((1, 1, 1, 1, 1)).variance == pytest.approx(0.125)


def test_a_pair_holds_two_games() -> None:
    assert games_in((1, 2, 3, 4, 5)) == 30
    assert games_in((1, 2, 3)) == 6


def test_pairs_as_independent_games_would_spread_alike() -> None:
    singles, pairs = moments((25, 50, 25)), moments((625, 2500, 3750, 2500, 625))
    assert pairs.sigma_per_game == pytest.approx(singles.sigma_per_game)


@pytest.mark.parametrize("bins", [(), (1,), (1, 2, 3, 4), (1, 2, 3, 4, 5, 6)])
def test_other_numbers_of_bins_are_refused(bins: tuple[int, ...]) -> None:
    with pytest.raises(StatisticsFault, match="3 counts"):
        moments(bins)


def test_negative_counts_are_refused() -> None:
    with pytest.raises(StatisticsFault, match="3 counts"):
        moments((1, -1, 1))
