"""Roots of a function of one variable that changes sign within a bracket."""

from collections.abc import Callable

MAX_STEPS = 200


def root(
    function: Callable[[float], float], low: float, high: float, *, within: float = 1e-14
) -> float:
    """The point where `function` crosses zero; its values at low and high differ in sign.

    Chandrupatla's method: inverse quadratic steps where they are safe, halving elsewhere.
    """
    newest, other = low, high
    value, other_value = function(low), function(high)
    share = 0.5
    for _ in range(MAX_STEPS):
        oldest, oldest_value = newest, value
        newest += share * (other - newest)
        value = function(newest)
        if (value > 0.0) != (oldest_value > 0.0):
            oldest, other = other, oldest
            oldest_value, other_value = other_value, oldest_value
        best = newest if abs(value) < abs(other_value) else other
        width = abs(other - newest)
        tolerance = within + 4e-16 * abs(best)
        if value == 0.0 or tolerance > width / 2.0:
            return best
        share = _share(newest, other, oldest, value, other_value, oldest_value)
        share = min(1.0 - tolerance / width, max(tolerance / width, share))
    return newest


def _share(a: float, b: float, c: float, fa: float, fb: float, fc: float) -> float:
    """How far from a to b the next guess lies: by interpolation if the curve is tame there."""
    xi = (a - b) / (c - b)
    phi = (fa - fb) / (fc - fb)
    if not (phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi):
        return 0.5
    return fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
