"""Forecasts whether a running SPRT will pass, and how many games it will still take.

Using the present estimate as the true Elo would be very wrong early on. Instead the true Elo has a
stated prior, the results turn it into a posterior, and every forecast is a mean over that
posterior. The chance to pass is not given while it would depend mostly on the prior. The number of
games left hardly depends on the prior, and its range is given from the first game on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from rookery.core.stats.numbers import StatisticsFault, quantile
from rookery.core.stats.sprt import Sprt
from rookery.core.stats.walk import GamesRange, LlrPace, Walk, range_of

# How many equally likely values represent the posterior when a mean over it is computed.
POINTS = 24
FEW_POINTS = 8
"""The number of points where only a range is needed: its ends change by a few per cent at most, at
a third of the cost. Lists compute it for every active test."""
_SPREADS = {
    points: tuple(quantile((i + 0.5) / points) for i in range(points))
    for points in (FEW_POINTS, POINTS)
}

# The data determine the answer if moving the prior by its sigma changes the chance by less than
# this.
LITTLE = 0.1

# Limit of a prior's mean and sigma, so that their squares stay representable.
WIDEST = 1e6


@dataclass(frozen=True, slots=True)
class Belief:
    """A normal distribution over the true Elo, on the scale of the bounds."""

    mean: float
    sigma: float

    def moved(self, sigmas: float) -> "Belief":
        return Belief(self.mean + sigmas * self.sigma, self.sigma)

    def points(self, count: int = POINTS) -> list[float]:
        return [self.mean + self.sigma * step for step in _SPREADS[count]]


@dataclass(frozen=True, slots=True)
class Forecast:
    """The chances of a running test, and the range of games that it still takes."""

    pass_chance: float
    fail_chance: float
    games_left: GamesRange


@dataclass(frozen=True, slots=True)
class Outlook:
    """How long a test still takes, and its chances; no forecast if it is too early to give them."""

    prior: Belief
    posterior: Belief
    games_left: GamesRange
    forecast: Forecast | None


def usual_prior(spec: Sprt) -> Belief:
    """Return the prior of a test. Most patches have hardly any effect, and bounds are about as wide
    as the expected effects.

    So its mean is the point within the bounds that is closest to zero, and its sigma their width.
    """
    return Belief(min(max(0.0, spec.elo0), spec.elo1), spec.elo1 - spec.elo0)


def posterior(pace: LlrPace, prior: Belief, llr: float, games: float) -> Belief:
    """Return the belief about the true Elo after a walk to `llr` in `games` games, given the
    prior."""
    spec = pace.spec
    width = spec.elo1 - spec.elo0
    information = games * pace.variance / width**2
    weight = 1.0 / prior.sigma**2 + information
    # The walk estimates middle + width * llr / (games * variance); here multiplied by information.
    pointing = information * (spec.elo0 + spec.elo1) / 2.0 + llr / width
    return Belief((prior.mean / prior.sigma**2 + pointing) / weight, sqrt(1.0 / weight))


def sprt_outlook(
    pace: LlrPace,
    llr: float,
    games: float,
    *,
    prior: Belief | None = None,
    games_allowed: float | None = None,
) -> Outlook:
    """Return the outlook of a running test at `llr` after `games` games; not for a test with a
    verdict."""
    before = prior or usual_prior(pace.spec)
    if not (abs(before.mean) <= WIDEST and 1.0 / WIDEST <= before.sigma <= WIDEST):
        raise StatisticsFault(
            "A prior's mean must lie within a million Elo,"
            " its sigma between a millionth and a million."
        )
    after = posterior(pace, before, llr, games)
    if _carried_by_data(pace, before, llr, games):
        ahead = forecast(pace, after, llr, games_allowed)
        return Outlook(before, after, ahead.games_left, ahead)
    left = forecast(pace, after, llr, games_allowed, points=FEW_POINTS).games_left
    return Outlook(before, after, left, None)


def forecast(
    pace: LlrPace,
    belief: Belief,
    llr: float,
    games_allowed: float | None = None,
    *,
    points: int = POINTS,
) -> Forecast:
    """Return the chances and games left, as means over the belief."""
    walks = [pace.walk(elo, llr) for elo in belief.points(points)]
    if walks[0].is_over:
        passed = 1.0 if walks[0].high <= 0.0 else 0.0
        return Forecast(passed, 1.0 - passed, GamesRange(0.0, 0.0, 0.0))
    guess = _mean([walk.mean_time() for walk in walks])
    left = range_of(lambda games: _mean([walk.chance_over_by(games) for walk in walks]), guess)
    if games_allowed is None:
        passed = _mean([walk.chance_high() for walk in walks])
        return Forecast(passed, 1.0 - passed, left)
    return _limited(walks, left, max(0.0, games_allowed))


def _limited(walks: Sequence[Walk], left: GamesRange, games_allowed: float) -> Forecast:
    return Forecast(
        _mean([walk.chance_high_by(games_allowed) for walk in walks]),
        _mean([walk.chance_low_by(games_allowed) for walk in walks]),
        left.capped(games_allowed),
    )


def _carried_by_data(pace: LlrPace, prior: Belief, llr: float, games: float) -> bool:
    """Whether the data weigh as much as the prior, or the prior hardly affects the answer."""
    believed = posterior(pace, prior, llr, games)
    if believed.sigma <= prior.sigma / sqrt(2.0) or pace.walk(prior.mean, llr).is_over:
        return True
    chances = [
        _pass_chance(pace, posterior(pace, prior.moved(way), llr, games), llr) for way in (-1, 1)
    ]
    return abs(chances[1] - chances[0]) < 2.0 * LITTLE


def _pass_chance(pace: LlrPace, belief: Belief, llr: float) -> float:
    return _mean([pace.walk(elo, llr).chance_high() for elo in belief.points()])


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def fixed_games_left(*, games: int, num_games: int) -> float:
    return float(max(0, num_games - games))
