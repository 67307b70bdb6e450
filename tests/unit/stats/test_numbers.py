"""The normal distribution, with scipy as the oracle."""

import pytest
from scipy import special

from rookery.stats.numbers import Z95, cdf, grown_tail, quantile, scaled_tail, upper_quantile


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


def test_a_huge_factor_and_a_tiny_tail_make_an_ordinary_product() -> None:
    assert grown_tail(5000.0, 100.0) == pytest.approx(scaled_tail(100.0))


def test_a_factor_with_most_of_the_distribution_is_their_product() -> None:
    assert grown_tail(-2.0, -1.0) == pytest.approx(float(special.ndtr(1.0)) * 0.1353352832366127)


def test_the_interval_is_the_usual_one() -> None:
    assert pytest.approx(1.959963984540054, abs=1e-15) == Z95
