"""Points of a run's charts: a few hundred over its whole life, however long that is."""

from datetime import datetime

from rookery.model.kinds import SprtTest
from rookery.model.run import Run
from rookery.rules.answers import ChartPoint

GROWTH = 1.02
"""Each point has this many times the games of the one before, so that many runs end with few."""


class Sampling:
    """How many games each run had at its last point; a part of a term."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}

    def start(self, run: Run) -> None:
        """A run whose points up to now are stored."""
        self._put_off(run)

    def taken(self, run: Run, now: datetime) -> tuple[ChartPoint, ...]:
        """A point where one is due: enough games since the last one, or the end."""
        games = run.tally.results.games
        if games < self._due.get(run.id, 0) and not run.status.finished:
            return ()
        self._put_off(run)
        return (sample_of(run, now),)

    def _put_off(self, run: Run) -> None:
        if run.status.finished:
            self._due.pop(run.id, None)
        else:
            self._due[run.id] = run.tally.results.games * GROWTH + run.kind.step


def sample_of(run: Run, now: datetime) -> ChartPoint:
    results = run.tally.results
    llr = run.kind.state.llr if isinstance(run.kind, SprtTest) else 0.0
    return ChartPoint(run.id, now, results.games, results.pentanomial, llr, run.tally.cores)


# Keeps a run's charts to a few hundred points, evenly spaced however long it plays.
#
# The points of a run lie a period of games apart, and the period doubles as often as it must for
# at most 256 of them. Within a period the last point stays. Place and period follow from the
# number of games alone, so that nothing has to be remembered over a restart.

MOST_PLACES = 256
FIRST_PERIOD = 8


def period(games: int) -> int:
    """How many games lie between two points once so many have been played."""
    found = FIRST_PERIOD
    while games >= MOST_PLACES * found:
        found *= 2
    return found


def place(sample: ChartPoint) -> int:
    """Where a point belongs; a later one for the same place takes it."""
    return sample.games - sample.games % period(sample.games)
