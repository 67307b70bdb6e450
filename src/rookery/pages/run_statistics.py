"""The figures of a run that cost some statistics: Elo with its error, games and time left.

They are remembered by what they were worked out from, so that a list of many runs that hardly
change costs next to nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from rookery.farm.views import NO_SPEED, RunSpeed
from rookery.model import run as rates
from rookery.model.kinds import Fixed, SprtTest, SpsaTuning
from rookery.model.run import Run
from rookery.model.task import Pentanomial, Task
from rookery.rules.answers import ChartPoint
from rookery.stats.elo import estimate_elo, live_elo
from rookery.stats.outlook import sprt_outlook
from rookery.stats.sprt import Sprt
from rookery.stats.walk import pace_of

WINDOW = timedelta(hours=1)
"""Over how long games are counted for a rate, and back to when a movement is looked for."""
LEAST_SECONDS = 5.0
REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class ShownElo:
    """Logistic Elo with half of its 95 % interval, and the likelihood of superiority."""

    middle: float
    low: float
    high: float
    los: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True)
class RunForecast:
    """The games that are probably still to come (the median), and the chance to pass."""

    games: float
    chance: float | None = None


def estimate_run_elo(run: Run) -> ShownElo | None:
    """The Elo of a run; None before the first pair, and for tunes."""
    results = run.tally.results
    if not results.pairs or isinstance(run.kind, SpsaTuning):
        return None
    if isinstance(run.kind, SprtTest):
        return estimate_sprt_elo(run.kind.spec, results.pentanomial, results.trinomial)
    return estimate_fixed_elo(results.pentanomial)


@lru_cache(maxsize=REMEMBERED)
def estimate_sprt_elo(spec: Sprt, pairs: Pentanomial, games: tuple[int, int, int]) -> ShownElo:
    """Elo that is not biased by the early end of a sequential test."""
    found = live_elo(spec, pairs, games)
    return ShownElo(found.elo, found.low, found.high, found.los)


@lru_cache(maxsize=REMEMBERED)
def estimate_fixed_elo(pairs: Pentanomial) -> ShownElo:
    """Elo of these pairs alone, as for a test of a fixed number of games."""
    found = estimate_elo(pairs)
    return ShownElo(found.elo, found.low, found.high, found.los)


def forecast_run(run: Run) -> RunForecast | None:
    """How many games are to come; None for a run that has ended or has just begun."""
    kind, results = run.kind, run.tally.results
    if run.status.finished or not results.games:
        return None
    if isinstance(kind, Fixed | SpsaTuning):
        return RunForecast(kind.games_left(results, run.plan.games))
    if isinstance(kind, SprtTest):
        return _forecast(kind.spec, round(kind.state.llr, 1), _rough(results.games), run.plan.games)
    return None


@lru_cache(maxsize=REMEMBERED)
def _forecast(spec: Sprt, llr: float, games: int, allowed: int) -> RunForecast | None:
    """Costs some milliseconds, so that it is asked with rounded figures."""
    inside = spec.lower < llr < spec.upper
    if not inside or games >= allowed:
        return None
    found = sprt_outlook(pace_of(spec), llr, games, games_allowed=allowed - games).forecast
    return None if found is None else RunForecast(found.games_left.middle, found.pass_chance)


def _rough(games: int) -> int:
    """A number of games rounded to about three per cent."""
    if games < 2:
        return games
    step = 2.0 ** (math.floor(math.log2(games)) - 5)
    return int(max(1.0, round(games / step) * step))


def estimate_speed(run: Run, tasks: Sequence[Task]) -> RunSpeed:
    """How fast a run should move with these tasks; the fleet itself counts once a minute."""
    if not tasks:
        return NO_SPEED
    return RunSpeed(rates.nodes_per_second(tasks), rates.games_per_minute(run, tasks))


def measure_games_per_minute(
    run: Run, then: ChartPoint | None, speed: RunSpeed, now: datetime
) -> float:
    """As measured since `then`, a point of about an hour ago, else as machines of that speed
    should be."""
    if not run.tally.workers:
        return 0.0
    if then is not None:
        since = max(then.at, now - WINDOW)
        seconds = (now - since).total_seconds()
        played = run.tally.results.games - then.games
        if seconds >= LEAST_SECONDS and played > 0:
            return 60 * played / seconds
    return speed.games_per_minute


def estimate_seconds_left(ahead: RunForecast | None, per_minute: float) -> float | None:
    if ahead is None or per_minute <= 0:
        return None
    return 60 * ahead.games / per_minute


def find_earlier_llr(run: Run, then: ChartPoint | None, now: datetime) -> float | None:
    """The log-likelihood ratio of an hour ago; None while nobody plays."""
    if not run.tally.workers:
        return None
    return 0.0 if then is None or then.at > now - WINDOW else then.llr
