"""How long an SPRT takes: its log-likelihood ratio as a random walk between two bounds.

The walk starts at 0, moves by `drift` and spreads by `variance` per unit of time, and ends at
`low` (below 0) or `high` (above 0).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, exp, expm1, pi, sin, sqrt

from rookery.core.stats.numbers import (
    NELO_PER_SIGMA,
    StatisticsFault,
    cdf,
    elo_of,
    grown_tail,
    moments,
    root,
    score_of,
)
from rookery.core.stats.sprt import EloModel, Sprt

# If a walk is this short compared to its corridor, or its drift dominates, the far bound hardly
# matters.
SHORT = 0.01
STEEP = 15.0
FLAT = 1e-200
NEGLIGIBLE = 1e-14

# After this many squared corridor widths, the chance to be still inside is below 1e-80.
CERTAINLY_OVER = 40.0


@dataclass(frozen=True, slots=True)
class Walk:
    """A random walk from 0 between `low` and `high`, per unit of time (see above)."""

    low: float
    high: float
    drift: float
    variance: float

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def pull(self) -> float:
        """The ratio of drift and variance: how strongly the walk tends towards `high`."""
        return self.drift / self.variance

    @property
    def is_over(self) -> bool:
        """Whether a bound was passed already; then the chances below are not defined."""
        return self.low >= 0.0 or self.high <= 0.0

    def chance_high(self) -> float:
        """Return the chance to end at `high`, however long it takes."""
        return self.mirrored().chance_low()

    def chance_low(self) -> float:
        steep = self.pull * self.width
        if abs(steep) < FLAT:
            return self.high / self.width
        if steep > 0.0:
            # Rearranged so that both exponents are negative.
            return exp(2.0 * self.pull * self.low) * (
                expm1(-2.0 * self.pull * self.high) / expm1(-2.0 * steep)
            )
        return expm1(2.0 * self.pull * self.high) / expm1(2.0 * steep)

    def mean_time(self) -> float:
        if abs(self.pull * self.width) < 1e-6:
            return -self.low * self.high / self.variance
        return (self.low + self.width * self.chance_high()) / self.drift

    def chance_high_by(self, time: float) -> float:
        """Return the chance to have ended at `high` by that time, by the method of images."""
        if time <= 0.0:
            return 0.0
        if self.variance * time > CERTAINLY_OVER * self.width**2:
            return self.chance_high()
        spread = sqrt(self.variance * time)
        pull, gone = self.pull, abs(self.drift) * time
        lean, steepness = pull * self.high, abs(pull)

        def image(distance: float) -> float:
            """Return the chance of a one-sided walk to have covered that distance, weighted for the
            two-sided walk."""
            way = steepness * distance
            return grown_tail(lean - way, (distance - gone) / spread) + grown_tail(
                lean + way, (distance + gone) / spread
            )

        total, there_and_back = image(self.high), 0.0
        while True:
            there_and_back += 2.0 * self.width
            term = image(there_and_back + self.high) - image(there_and_back - self.high)
            total += term
            if abs(term) < NEGLIGIBLE:
                return min(1.0, max(0.0, total))

    def chance_low_by(self, time: float) -> float:
        return self.mirrored().chance_high_by(time)

    def chance_over_by(self, time: float) -> float:
        return min(1.0, self.chance_high_by(time) + self.chance_low_by(time))

    def mirrored(self) -> "Walk":
        return Walk(-self.high, -self.low, -self.drift, self.variance)

    def chance_below(self, time: float, y: float) -> float:
        """Return the chance to have ended at `low`, or to be inside but at most at y, at that
        time."""
        corridor = self.variance * time / self.width**2
        if corridor < SHORT or abs(self.pull * self.width) > STEEP:
            chance = self._below_by_reflection(time, y)
        else:
            chance = self.chance_low() + self._below_by_waves(time, y)
        return min(1.0, max(0.0, chance))

    def _below_by_reflection(self, time: float, y: float) -> float:
        spread = sqrt(self.variance * time)
        off = y - self.drift * time
        return (
            cdf(off / spread)
            + grown_tail(2.0 * self.pull * self.low, (off - 2.0 * self.low) / spread)
            - grown_tail(2.0 * self.pull * self.high, (2.0 * self.high - off) / spread)
        )

    def _below_by_waves(self, time: float, y: float) -> float:
        """`chance_below` by the Fourier series of the walks that are still inside."""
        width, steep = self.width, self.pull * self.width
        start, end = -self.low * pi / width, (y - self.low) * pi / width
        decay = self.variance * time * (pi / width) ** 2 / 2.0
        total, n = 0.0, 0
        while True:
            n += 1
            fade = exp(-(n * n - 1) * decay)
            wave = (
                2.0
                * (steep * sin(n * end) - pi * n * cos(n * end))
                / (steep * steep + (pi * n) ** 2)
            )
            total += fade * wave * sin(n * start)
            if fade < NEGLIGIBLE:
                break
        lost = decay + self.drift * self.pull * time / 2.0
        return total * exp(self.pull * y - lost)


# How fast an SPRT's log-likelihood ratio moves per game, for each true Elo.
#
# Per game its variance grows by `variance` and it drifts by pull * variance, where the pull is the
# distance of the true Elo from the middle of the bounds, in widths of the bounds.

# Pairs of a strong engine at short time control from a book of unbalanced openings, per thousand.
TYPICAL_PAIRS = (10, 230, 520, 230, 10)
TYPICAL_SIGMA = moments(TYPICAL_PAIRS).sigma_per_game

# The mean overshoot of a random walk, in sigmas of a step (-zeta(1/2) / sqrt(2 pi)).
MEAN_OVERSHOOT = 0.5825971579390107

# The largest pull: an Elo this many widths away decides the test in its first game, and more would
# overflow.
STRONGEST_PULL = 1e6


@dataclass(frozen=True, slots=True)
class LlrPace:
    """The variance of a test's log-likelihood ratio per game."""

    spec: Sprt
    variance: float
    corrected: bool = True

    def walk(self, elo: float, llr: float = 0.0) -> Walk:
        """Return the walk that remains from `llr` to the bounds; `elo` is on the scale of the
        bounds.

        A corrected test ends on its nominal bounds on average; an uncorrected one ends beyond them.
        """
        spec = self.spec
        middle, width = (spec.elo0 + spec.elo1) / 2.0, spec.elo1 - spec.elo0
        beyond = 0.0 if self.corrected else MEAN_OVERSHOOT * self.batch_sigma
        return Walk(
            low=spec.lower - beyond - llr,
            high=spec.upper + beyond - llr,
            drift=max(-STRONGEST_PULL, min(STRONGEST_PULL, (elo - middle) / width)) * self.variance,
            variance=self.variance,
        )

    @property
    def batch_sigma(self) -> float:
        return sqrt(2.0 * self.spec.batch_size * self.variance)


def pace_of(
    spec: Sprt, sigma_per_game: float = TYPICAL_SIGMA, *, corrected: bool = True
) -> LlrPace:
    """Return the pace of a test. Normalised bounds determine it; for the other scales it depends on
    the spread of games.

    A test is `corrected` as long as it keeps its overshoot record.
    """
    if spec.model is EloModel.NORMALISED:
        step = (spec.elo1 - spec.elo0) / NELO_PER_SIGMA
    else:
        step = (score_of(spec.elo1) - score_of(spec.elo0)) / sigma_per_game
    return LlrPace(spec, step * step, corrected)


# How long an SPRT takes and how it ends for a known true Elo, for planning a test.

PIECES = 400
"""The number of intervals in Simpson's rule, which must be even."""


@dataclass(frozen=True, slots=True)
class GamesRange:
    """The numbers of games at which 10, 50 and 90 % of tests are over."""

    early: float
    middle: float
    late: float

    def scaled(self, factor: float) -> "GamesRange":
        return GamesRange(self.early * factor, self.middle * factor, self.late * factor)

    def capped(self, limit: float) -> "GamesRange":
        return GamesRange(min(self.early, limit), min(self.middle, limit), min(self.late, limit))


@dataclass(frozen=True, slots=True)
class TestLength:
    """The chances and lengths of a test; with a limit on games, some tests end without a
    verdict."""

    elo: float
    pass_chance: float
    fail_chance: float
    mean_games: float
    games: GamesRange

    @property
    def undecided_chance(self) -> float:
        return max(0.0, 1.0 - self.pass_chance - self.fail_chance)


def length_at(pace: LlrPace, elo: float, *, max_games: float | None = None) -> TestLength:
    walk = pace.walk(elo)
    if max_games is None:
        passed, mean = walk.chance_high(), walk.mean_time()
        return TestLength(elo, passed, 1.0 - passed, mean, range_of(walk.chance_over_by, mean))
    return TestLength(
        elo,
        walk.chance_high_by(max_games),
        walk.chance_low_by(max_games),
        _mean_within(walk, max_games),
        range_of(walk.chance_over_by, walk.mean_time()).capped(max_games),
    )


def range_of(over_by: Callable[[float], float], guess: float) -> GamesRange:
    """Return the points at which a distribution of lengths reaches 10, 50 and 90 %, accurate to a
    thousandth."""
    return GamesRange(*(_reaches(over_by, chance, guess) for chance in (0.1, 0.5, 0.9)))


def _reaches(over_by: Callable[[float], float], chance: float, guess: float) -> float:
    high = max(guess, 1.0)
    while over_by(high) < chance:
        high *= 2.0
    low = high / 2.0
    while over_by(low) > chance:
        high, low = low, low / 2.0
    return root(lambda games: over_by(games) - chance, low, high, within=low / 1000.0)


def _mean_within(walk: Walk, limit: float) -> float:
    """Return the mean of min(length, limit): the integral of the chance to be still running."""
    if walk.chance_over_by(limit) > 1.0 - 1e-9:
        return walk.mean_time()
    step = limit / PIECES
    running = [1.0 - walk.chance_over_by(step * i) for i in range(PIECES + 1)]
    odd, even = sum(running[1:-1:2]), sum(running[2:-1:2])
    return step / 3.0 * (running[0] + 4.0 * odd + 2.0 * even + running[-1])


# The spread of single games, from the share of draws and the imbalance of openings.


@dataclass(frozen=True, slots=True)
class ScoreSpread:
    """The share of drawn games, and the root mean square of the openings' advantage for one side,
    in Elo; in a pair of games these advantages cancel out."""

    draw_ratio: float
    rms_bias: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.draw_ratio < 1.0 or self._variance <= 0.0:
            raise StatisticsFault(
                "The draw ratio lies from 0 to below 1, and there must be more decided games than"
                " the bias alone makes."
            )

    @property
    def _variance(self) -> float:
        bias = score_of(self.rms_bias) - 0.5
        return (1.0 - self.draw_ratio) / 4.0 - bias * bias

    @property
    def sigma(self) -> float:
        """The sigma of one game, without the part that cancels out within pairs."""
        return sqrt(self._variance)

    def nelo_of(self, elo: float) -> float:
        """Convert logistic Elo to normalised Elo."""
        return (score_of(elo) - 0.5) / self.sigma * NELO_PER_SIGMA

    def elo_of(self, nelo: float) -> float:
        """Convert normalised Elo to logistic Elo."""
        return elo_of(0.5 + nelo / NELO_PER_SIGMA * self.sigma)
