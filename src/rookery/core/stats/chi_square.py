"""The chi-square distribution with an even number of degrees of freedom."""

from math import exp, lgamma, log

NEGLIGIBLE = 1e-17


def upper_tail(value: float, degrees: int) -> float:
    """The chance to exceed `value`: that of fewer than degrees / 2 events where value / 2 are due.

    The sum starts at its largest term on the side where terms fall, so that it stays short.
    """
    due, events = max(value, 0.0) / 2.0, degrees // 2
    if due == 0.0:
        return 1.0
    if due >= events - 1:
        return min(1.0, _falling_sum(due, events - 1, -1))
    return max(0.0, 1.0 - _falling_sum(due, events, 1))


def _falling_sum(due: float, first: int, way: int) -> float:
    """The Poisson chances of `first` events and of ever more (way 1) or fewer (way -1)."""
    term = exp(first * log(due) - due - lgamma(first + 1.0))
    total, events = term, first
    while term > NEGLIGIBLE * total:
        term *= due / (events + 1) if way > 0 else events / due
        events += way
        total += term
    return total
