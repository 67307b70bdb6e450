"""The chi-square distribution, with scipy as the oracle."""

import pytest
from scipy import special

from rookery.stats.numbers import upper_tail


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
