"""Elo estimates for fixed games and for a running SPRT, and the number of games that a difference
needs to be seen.

Each comes with its 95 % interval and the likelihood of superiority.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import Protocol

from rookery.core.stats.likelihood import bayes_bounds, unpaired
from rookery.core.stats.numbers import (
    NELO_PER_SIGMA,
    Z95,
    Moments,
    StatisticsFault,
    cdf,
    elo_of,
    moments,
    quantile,
    root,
    score_of,
)
from rookery.core.stats.sprt import EloModel, Sprt
from rookery.core.stats.walk import TYPICAL_SIGMA, Walk


class EloInterval(Protocol):
    """Logistic Elo with its 95 % interval, and the likelihood of superiority, however estimated."""

    @property
    def elo(self) -> float: ...

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    @property
    def half_width(self) -> float: ...

    @property
    def los(self) -> float: ...


@dataclass(frozen=True, slots=True)
class EloEstimate:
    """Logistic Elo, half of its 95 % interval, and the likelihood of superiority."""

    elo: float
    half_width: float
    los: float

    @property
    def low(self) -> float:
        return self.elo - self.half_width

    @property
    def high(self) -> float:
        return self.elo + self.half_width


def estimate_elo(bins: Sequence[int]) -> EloEstimate:
    """Logistic Elo. The games of a pair share their opening, so the spread is computed by pairs."""
    counted = moments(bins)
    error = sqrt(counted.variance / counted.samples)
    mean, reach = counted.mean, Z95 * error
    return EloEstimate(
        elo=elo_of(mean),
        half_width=(elo_of(mean + reach) - elo_of(mean - reach)) / 2.0,
        los=cdf((mean - 0.5) / error),
    )


# The Elo of a running SPRT, not biased by the moment of looking or by how the test stopped.
#
# The plain estimate of a test that just passed is too high: the test passed because it was high.
# The median-unbiased estimate is the true Elo at which this outcome or a worse one has a
# probability of one half.

WIDEST_ELO = 1000.0
SMALLEST_GAP = 1e-12
SMALLEST_REACH = 0.01
CHART_ELO = 1e-3
REMEMBERED = 8192


@dataclass(frozen=True, slots=True)
class SequentialElo:
    """Logistic Elo with its 95 % interval, and the likelihood of superiority."""

    elo: float
    low: float
    high: float
    los: float
    llr: float
    lower_bound: float
    upper_bound: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


def live_elo(
    spec: Sprt,
    bins: Sequence[int],
    trinomial: Sequence[int] | None = None,
    *,
    within: float = 1e-14,
) -> SequentialElo:
    """Return the Elo of a running test. `within` is the accuracy in Elo; charts need less of it."""
    counted, plain = moments(bins), estimate_elo(bins)
    worse = _chance_of_worse(spec, counted, score_bounds(spec, counted, bins, trinomial))
    # The plain estimate is close, unless the test has just ended.
    reach = max(0.5 * plain.half_width, SMALLEST_REACH)
    return SequentialElo(
        elo=_elo_where(worse, 0.5, plain.elo, reach, within),
        low=_elo_where(worse, 0.975, plain.low, reach, within),
        high=_elo_where(worse, 0.025, plain.high, reach, within),
        los=worse(0.0),
        llr=spec.log_ratio(bins, trinomial),
        lower_bound=spec.lower,
        upper_bound=spec.upper,
    )


@lru_cache(maxsize=REMEMBERED)
def live_elo_on_chart(spec: Sprt, bins: tuple[int, ...]) -> SequentialElo:
    """Return the Elo at an earlier point of a test, accurate enough for a chart. Cached, since
    charts are drawn repeatedly."""
    return live_elo(spec, bins, within=CHART_ELO)


def score_bounds(
    spec: Sprt,
    counted: Moments,
    bins: Sequence[int],
    trinomial: Sequence[int] | None = None,
) -> tuple[float, float]:
    """elo0 and elo1 as expected scores, given how much these results spread."""
    if spec.model is EloModel.NORMALISED:
        scale = counted.sigma_per_game / NELO_PER_SIGMA
        return 0.5 + spec.elo0 * scale, 0.5 + spec.elo1 * scale
    if spec.model is EloModel.LOGISTIC:
        return score_of(spec.elo0), score_of(spec.elo1)
    games = trinomial if trinomial is not None else unpaired(bins)
    low, high = map(score_of, bayes_bounds(spec.elo0, spec.elo1, games))
    # If nearly all games are draws, both bounds round to the same double.
    return low, max(high, low + SMALLEST_GAP)


def _chance_of_worse(
    spec: Sprt, counted: Moments, bounds: tuple[float, float]
) -> Callable[[float], float]:
    """Return a function of the true Elo: the chance of an outcome at most as good as the observed
    one."""
    score0, score1 = bounds
    step = (score1 - score0) / counted.variance
    middle, variance = (score0 + score1) / 2.0, (score1 - score0) * step

    per_sample = (counted.mean - middle) * step
    time, y = counted.samples, counted.samples * per_sample
    # A walk beyond its bound ended at the bound, at the time that its pace implies.
    if not spec.lower <= y <= spec.upper:
        y = spec.lower if y < 0.0 else spec.upper
        time = y / per_sample

    def chance(elo: float) -> float:
        drift = (score_of(elo) - middle) * step
        return Walk(spec.lower, spec.upper, drift, variance).chance_below(time, y)

    return chance


def _elo_where(
    worse: Callable[[float], float], chance: float, guess: float, reach: float, within: float
) -> float:
    """Return the Elo at which a worse outcome has this chance, searched around a guess in widening
    brackets."""
    while True:
        low, high = max(-WIDEST_ELO, guess - reach), min(WIDEST_ELO, guess + reach)
        above, below = worse(low) > chance, worse(high) < chance
        if above and below:
            return root(lambda elo: worse(elo) - chance, low, high, within=within)
        if low == -WIDEST_ELO and not above:
            return low
        if high == WIDEST_ELO and not below:
            return high
        reach *= 4.0


# What a fixed number of games can show: power, games needed, and the smallest detectable Elo.
#
# The underlying test is one-sided: the new version counts as better if its likelihood of
# superiority exceeds 1 - alpha.


POWER_WANTED = (
    "Games and Elo must be above 0, power above alpha and below 1, alpha between 1e-9 and 0.5."
)


@dataclass(frozen=True, slots=True)
class FixedTest:
    """A test of a fixed number of games: the spread of single games, and the accepted rate of false
    positives."""

    sigma_per_game: float = TYPICAL_SIGMA
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not (0.0 < self.sigma_per_game <= 1.0 and 1e-9 <= self.alpha <= 0.5):
            raise StatisticsFault(POWER_WANTED)

    def power(self, games: float, elo: float) -> float:
        """Return the chance to detect that a version with this true Elo is better."""
        _require(games > 0.0)
        shift = (score_of(elo) - 0.5) * sqrt(games) / self.sigma_per_game
        return cdf(shift - self._threshold)

    def games_needed(self, elo: float, power: float) -> float:
        _require(score_of(elo) > 0.5 and self.alpha < power < 1.0)
        sigmas = self._threshold + quantile(power)
        return (sigmas * self.sigma_per_game / (score_of(elo) - 0.5)) ** 2

    def smallest_elo(self, games: float, power: float) -> float:
        """Return the true Elo that is detected with this power; large values stop at the end of the
        scale."""
        _require(games > 0.0 and self.alpha < power < 1.0)
        sigmas = self._threshold + quantile(power)
        return elo_of(0.5 + sigmas * self.sigma_per_game / sqrt(games))

    def half_width(self, games: float) -> float:
        """Half of the 95 % interval around an Elo near zero."""
        _require(games > 0.0)
        return elo_of(0.5 + Z95 * self.sigma_per_game / sqrt(games))

    @property
    def _threshold(self) -> float:
        return -quantile(self.alpha)


def _require(condition: bool) -> None:
    if not condition:
        raise StatisticsFault(POWER_WANTED)
