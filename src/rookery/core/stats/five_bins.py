"""The tilt of a distribution over game pairs, written out for its five bins.

Every accepted report of a sequential test needs one or two of these, and they were its dearest
part. Nothing here differs from the loops in `likelihood`, down to the last bit, but the time: less
than half. A test holds both against each other.
"""

from collections.abc import Sequence
from math import sqrt

from rookery.core.stats.precision import (
    CONVERGED,
    MAX_NEWTON_STEPS,
    MAX_REFINEMENTS,
    ROUNDING,
    SMALLEST_SHARE,
    STEP_THAT_SETTLES,
)

Five = tuple[float, float, float, float, float]

_EVEN: Five = (0.2, 0.2, 0.2, 0.2, 0.2)


def tilt_of_five_to_sigmas(shares: Sequence[float], target: float) -> tuple[float, Five] | None:
    """Tilt until the mean lies so many sigmas above one half; None where the usual start fails."""
    p0, p1, p2, p3, p4 = shares
    slopes = _linearised(_EVEN, target)
    if max(slopes) <= 0.0 or min(slopes) >= 0.0:
        return None
    found, own = _EVEN, (p0, p1, p2, p3, p4)
    tilt = _tilt(own, slopes, 0.0)
    for _ in range(MAX_REFINEMENTS - 1):
        b0, b1, b2, b3, b4 = slopes
        last = found
        found = (
            p0 / (1.0 + tilt * b0),
            p1 / (1.0 + tilt * b1),
            p2 / (1.0 + tilt * b2),
            p3 / (1.0 + tilt * b3),
            p4 / (1.0 + tilt * b4),
        )
        if max(map(abs, map(float.__sub__, found, last))) < CONVERGED:
            break
        slopes = _linearised(found, target)
        tilt = _tilt(own, slopes, tilt)
    return tilt, slopes


def _linearised(found: Five, sigmas: float) -> Five:
    """The condition made linear around a distribution."""
    f0, f1, f2, f3, f4 = found
    mean = f1 * 0.25 + f2 * 0.5 + f3 * 0.75 + f4
    off1, off2, off3, off4 = 0.25 - mean, 0.5 - mean, 0.75 - mean, 1.0 - mean
    sq0, sq1, sq2, sq3, sq4 = mean * mean, off1 * off1, off2 * off2, off3 * off3, off4 * off4
    sigma = sqrt(f0 * sq0 + f1 * sq1 + f2 * sq2 + f3 * sq3 + f4 * sq4)
    offset = 0.5 + sigmas * sigma / 2.0
    bend = sigmas / (2.0 * sigma)
    return (
        0.0 - offset - bend * sq0,
        0.25 - offset - bend * sq1,
        0.5 - offset - bend * sq2,
        0.75 - offset - bend * sq3,
        1.0 - offset - bend * sq4,
    )


def _tilt(shares: Five, slopes: Five, start: float) -> float:
    """As in `likelihood`; here slopes of either sign exist."""
    p0, p1, p2, p3, p4 = shares
    b0, b1, b2, b3, b4 = slopes
    top, bottom = max(slopes), min(slopes)
    if top <= 0.0 or bottom >= 0.0:
        return 0.0
    left, right = -1.0 / top, -1.0 / bottom
    low = left * (1.0 - max(SMALLEST_SHARE, shares[slopes.index(top)]))
    high = right * (1.0 - max(SMALLEST_SHARE, shares[slopes.index(bottom)]))
    x = start if low < start < high else 0.0
    for _ in range(MAX_NEWTON_STEPS):
        r0, r1, r2 = b0 / (1.0 + x * b0), b1 / (1.0 + x * b1), b2 / (1.0 + x * b2)
        r3, r4 = b3 / (1.0 + x * b3), b4 / (1.0 + x * b4)
        q0, q1, q2, q3, q4 = p0 * r0, p1 * r1, p2 * r2, p3 * r3, p4 * r4
        value = q0 + q1 + q2 + q3 + q4
        fall = q0 * r0 + q1 * r1 + q2 * r2 + q3 * r3 + q4 * r4
        if value > 0.0:
            low = x
        else:
            high = x
        from_left, from_right = x - left, right - x
        change = value * (1.0 / from_left - 1.0 / from_right) - fall
        step = -value / change if change else 0.0
        if not low <= x + step <= high:
            step = (low + high) / 2.0 - x
        x += step
        size = abs(step)
        if size <= STEP_THAT_SETTLES * min(from_left, from_right) or size <= ROUNDING * abs(x):
            break
    return x
