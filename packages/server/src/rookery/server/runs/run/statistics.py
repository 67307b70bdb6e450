"""Computed figures of a run: Elo with its error, games and remaining time.

Results are cached by their input, so that a list of many runs that hardly change costs next to
nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from rookery.core.model import run as rates
from rookery.core.model.kinds import Fixed, SprtTest, SpsaTuning
from rookery.core.model.run import Run
from rookery.core.model.task import Pentanomial, Task
from rookery.core.stats.elo import estimate_elo, live_elo, live_elo_on_chart
from rookery.core.stats.outlook import sprt_outlook
from rookery.core.stats.sprt import Sprt
from rookery.core.stats.walk import GamesRange, pace_of
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.rules.observations import chart_point
from rookery.server.farm.views import NO_SPEED, RunSpeed

WINDOW = timedelta(hours=1)
"""The period over which games are counted for a rate, and after which the change of a ratio is
shown."""
LEAST_SECONDS = 5.0
REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class ShownElo:
    """Logistic Elo with its 95 % interval, and the likelihood of superiority."""

    middle: float
    low: float
    high: float
    los: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    @property
    def ends(self) -> str:
        """The Elo and the ends of its interval as plain numbers, for the script of the charts."""
        return f"{self.middle:.3f} {self.low:.3f} {self.high:.3f}"


@dataclass(frozen=True, slots=True)
class RunForecast:
    """The expected number of further games (the median). For a sequential test also the range that
    holds in eight of ten cases and, once there are enough results, the chance to pass."""

    games: float
    range: GamesRange | None = None
    chance: float | None = None

    @property
    def is_rough(self) -> bool:
        """Whether a single number would suggest more precision than there is."""
        return self.range is not None and self.chance is None


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
    """The Elo of a sequential test, corrected for the bias of its early end."""
    found = live_elo(spec, pairs, games)
    return ShownElo(found.elo, found.low, found.high, found.los)


def estimate_elo_at(run: Run, point: ChartPoint) -> ShownElo:
    """The Elo of a run at this point, estimated in the same way as its present one."""
    if not isinstance(run.kind, SprtTest):
        return estimate_fixed_elo(point.pentanomial)
    found = live_elo_on_chart(run.kind.spec, point.pentanomial)
    return ShownElo(found.elo, found.low, found.high, found.los)


@lru_cache(maxsize=REMEMBERED)
def estimate_fixed_elo(pairs: Pentanomial) -> ShownElo:
    """The plain Elo of these pairs, as for a test with a fixed number of games."""
    found = estimate_elo(pairs)
    return ShownElo(found.elo, found.low, found.high, found.los)


def forecast_run(run: Run) -> RunForecast | None:
    """The expected number of further games; None for a run that has ended."""
    kind, results = run.kind, run.tally.results
    if run.status.finished:
        return None
    if isinstance(kind, Fixed | SpsaTuning):
        return RunForecast(kind.games_left(results, run.plan.games))
    if isinstance(kind, SprtTest):
        llr, games = _round_off(kind.spec, kind.state.llr, results.games)
        return _forecast(kind.spec, llr, games, run.plan.games)
    return None


def _round_off(spec: Sprt, llr: float, games: int) -> tuple[float, int]:
    """Round the input to the precision of the forecast, so that similar runs share a cached one."""
    if not _is_young(spec, games):
        return round(llr, 1), _rough(games, 5)
    near = min(llr - spec.lower, spec.upper - llr) < 1
    return round(llr, 1) if near else round(4 * llr) / 4, _rough(games, 2)


def _is_young(spec: Sprt, games: int) -> bool:
    """Whether the results weigh less than the prior, so that their exact number hardly matters."""
    return games * pace_of(spec).variance < 1


@lru_cache(maxsize=REMEMBERED)
def _forecast(spec: Sprt, llr: float, games: int, allowed: int) -> RunForecast | None:
    """The forecast. It takes some milliseconds, so it is called with rounded input and cached."""
    inside = spec.lower < llr < spec.upper
    if not inside or games >= allowed:
        return None
    found = sprt_outlook(pace_of(spec), llr, games, games_allowed=allowed - games)
    chance = None if found.forecast is None else found.forecast.pass_chance
    return RunForecast(found.games_left.middle, found.games_left, chance)


def _rough(games: int, digits: int) -> int:
    """Round to so many binary digits after the first. Five digits are about three per cent."""
    if games < 2:
        return games
    step = 2.0 ** (math.floor(math.log2(games)) - digits)
    return int(max(1.0, round(games / step) * step))


def estimate_speed(run: Run, tasks: Sequence[Task]) -> RunSpeed:
    """The expected speed of a run with these tasks, until the fleet's own count, once a minute."""
    if not tasks:
        return NO_SPEED
    return RunSpeed(rates.nodes_per_second(tasks), rates.games_per_minute(run, tasks))


def add_present(
    samples: tuple[ChartPoint, ...], run: Run, now: datetime, nps: float = 0.0
) -> tuple[ChartPoint, ...]:
    """Add a point for the present, since points are stored only now and then."""
    if samples and samples[-1].games >= run.tally.results.games:
        return samples
    return (*samples, chart_point(run, now, nps))


def leave_out_purged(samples: Sequence[ChartPoint], run: Run) -> Sequence[ChartPoint]:
    """Replace points from before a purge, with more games than are left, by one point of the
    present, so that lines over games end at the run's present number."""
    games = run.tally.results.games
    if not samples or samples[-1].games <= games:
        return samples
    return (*(one for one in samples if one.games < games), chart_point(run, samples[-1].at))


def measure_games_per_minute(
    run: Run, then: ChartPoint | None, speed: RunSpeed, now: datetime
) -> float:
    """The rate measured since `then`, a point of about an hour ago; without one, the rate to be
    expected of machines of that speed."""
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
    """The log-likelihood ratio an hour ago; None while nobody plays."""
    if not run.tally.workers:
        return None
    return 0.0 if then is None or then.at > now - WINDOW else then.llr
