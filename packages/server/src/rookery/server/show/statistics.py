"""Computed figures of a run: Elo with its error, games and remaining time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rookery.core.model import run as rates
from rookery.core.model.kinds import RunForecast, estimate_pairs
from rookery.core.model.run import Run
from rookery.core.model.task import Pentanomial, Task
from rookery.core.stats.elo import EloInterval
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.rules.observations import chart_point
from rookery.server.farm.views import NO_SPEED, RunSpeed

WINDOW = timedelta(hours=1)
"""The period over which games are counted for a rate, and after which the change of a ratio is
shown."""
LEAST_SECONDS = 5.0


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


def show_elo(found: EloInterval) -> ShownElo:
    return ShownElo(found.elo, found.low, found.high, found.los)


def estimate_run_elo(run: Run) -> ShownElo | None:
    """The Elo of a run; None before the first pair, and for tunes."""
    found = run.kind.estimate(run.tally.results)
    return None if found is None else show_elo(found)


def estimate_elo_at(run: Run, point: ChartPoint) -> ShownElo:
    """The Elo of a run at this point, estimated in the same way as its present one."""
    return show_elo(run.kind.estimate_at(point.pentanomial))


def estimate_fixed_elo(pairs: Pentanomial) -> ShownElo:
    """The plain Elo of these pairs, as for a test with a fixed number of games."""
    return show_elo(estimate_pairs(pairs))


def forecast_run(run: Run) -> RunForecast | None:
    """The expected number of further games; None for a run that has ended."""
    if run.status.finished:
        return None
    return run.kind.forecast(run.tally.results, run.plan.games)


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
