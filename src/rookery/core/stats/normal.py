"""The normal distribution, exact far into its tails."""

from math import erfc, exp, log, pi, sqrt
from statistics import NormalDist

_STANDARD = NormalDist()
_ROOT_TWO = sqrt(2.0)
_ROOT_TWO_PI = sqrt(2.0 * pi)

# The two-sided 95 % interval.
Z95 = _STANDARD.inv_cdf(0.975)

# Below this log-probability exp() leaves the range in which it is exact.
_SMALLEST_LOG = -690.0
# From here on the tail's asymptotic series is exact to thirteen digits.
_FAR = 25.0


def cdf(z: float) -> float:
    return 0.5 * erfc(-z / _ROOT_TWO)


def quantile(probability: float) -> float:
    """The z with this much probability below it; 0 and 1 give the far ends that doubles hold."""
    return _STANDARD.inv_cdf(max(1e-300, min(1.0 - 2.0**-53, probability)))


def upper_quantile(log_tail: float) -> float:
    """The z with probability exp(log_tail) above it, however small that is."""
    if log_tail > _SMALLEST_LOG:
        return -quantile(exp(min(log_tail, 0.0)))
    z = sqrt(-2.0 * log_tail)
    for _ in range(6):
        scaled = scaled_tail(z)
        z += (log(scaled) - z * z / 2.0 - log_tail) * scaled * _ROOT_TWO_PI
    return z


def scaled_tail(z: float) -> float:
    """exp(z^2 / 2) times the probability above z, for z >= 0: never underflows."""
    if z < _FAR:
        return exp(z * z / 2.0) * 0.5 * erfc(z / _ROOT_TWO)
    r = 1.0 / (z * z)
    series = 1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r * (1.0 - 7.0 * r * (1.0 - 9.0 * r))))
    return series / (z * _ROOT_TWO_PI)


def grown_tail(exponent: float, z: float) -> float:
    """exp(exponent) times the probability above z, where the product stays at most one."""
    if z > 0.0:
        return exp(min(0.0, exponent - z * z / 2.0)) * scaled_tail(z)
    return exp(min(0.0, exponent)) * cdf(-z)
