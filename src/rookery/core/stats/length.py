"""How long an SPRT takes and how it ends, if the true Elo were known: what to ask before a test."""

from collections.abc import Callable
from dataclasses import dataclass

from rookery.core.stats.brownian import Walk
from rookery.core.stats.pace import Pace
from rookery.core.stats.roots import root

PIECES = 400
"""By which a mean is summed up; even, as Simpson's rule wants it."""


@dataclass(frozen=True, slots=True)
class Range:
    """Games at which one in ten, one in two and nine in ten tests are over."""

    early: float
    middle: float
    late: float

    def scaled(self, factor: float) -> "Range":
        return Range(self.early * factor, self.middle * factor, self.late * factor)

    def capped(self, limit: float) -> "Range":
        return Range(min(self.early, limit), min(self.middle, limit), min(self.late, limit))


@dataclass(frozen=True, slots=True)
class Length:
    """Chances and games; with a limit on games some tests end without a verdict."""

    elo: float
    pass_chance: float
    fail_chance: float
    mean_games: float
    games: Range

    @property
    def undecided_chance(self) -> float:
        return max(0.0, 1.0 - self.pass_chance - self.fail_chance)


def length_at(pace: Pace, elo: float, *, max_games: float | None = None) -> Length:
    walk = pace.walk(elo)
    if max_games is None:
        passed, mean = walk.chance_high(), walk.mean_time()
        return Length(elo, passed, 1.0 - passed, mean, range_of(walk.chance_over_by, mean))
    return Length(
        elo,
        walk.chance_high_by(max_games),
        walk.chance_low_by(max_games),
        _mean_within(walk, max_games),
        range_of(walk.chance_over_by, walk.mean_time()).capped(max_games),
    )


def range_of(over_by: Callable[[float], float], guess: float) -> Range:
    """Where a distribution of lengths reaches 10, 50 and 90 %, to a thousandth of itself."""
    return Range(*(_reaches(over_by, chance, guess) for chance in (0.1, 0.5, 0.9)))


def _reaches(over_by: Callable[[float], float], chance: float, guess: float) -> float:
    high = max(guess, 1.0)
    while over_by(high) < chance:
        high *= 2.0
    low = high / 2.0
    while over_by(low) > chance:
        high, low = low, low / 2.0
    return root(lambda games: over_by(games) - chance, low, high, within=low / 1000.0)


def _mean_within(walk: Walk, limit: float) -> float:
    """The mean of min(length, limit): the area under the chance to be still running."""
    if walk.chance_over_by(limit) > 1.0 - 1e-9:
        return walk.mean_time()
    step = limit / PIECES
    running = [1.0 - walk.chance_over_by(step * i) for i in range(PIECES + 1)]
    odd, even = sum(running[1:-1:2]), sum(running[2:-1:2])
    return step / 3.0 * (running[0] + 4.0 * odd + 2.0 * even + running[-1])
