"""The farm in figures for whoever watches over it: runs by state, machines, games, what waits and
what failed. Numbers alone, without a name of anybody or anything."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rookery.caches import ExpiringCache, SharedWork
from rookery.clock import Clock
from rookery.db.fence import is_outage
from rookery.db.table import Table
from rookery.farm.commits import StateLost
from rookery.farm.fleet import Fleet
from rookery.farm.primary import Rebuilding
from rookery.model.run import DisplayState, Run

REMEMBERED_SECONDS = 15.0
"""A scraper asks about as often, and several may."""


@dataclass(frozen=True, slots=True)
class CountedRows:
    """What one query counts. Failures are those of the last hour, given up are those deliveries
    of the last day that nobody took."""

    finished_runs: int = 0
    credited_games: int = 0
    pending_accounts: int = 0
    failed_tasks: int = 0
    dead_tasks: int = 0
    crashed_tasks: int = 0
    stopped_runs: int = 0
    undelivered: int = 0
    undelivered_seconds: float = 0.0
    given_up: int = 0
    backup_seconds: float | None = None
    """The age of the latest backup; None where none was ever made."""


class FigureRows(Table):
    async def count(self) -> CountedRows:
        found = await self._one(CountedRows, "farm_figures")
        return found or CountedRows()


@dataclass(frozen=True, slots=True)
class FarmFigures:
    """All of it at one moment; `rows` is None while the database does not answer."""

    runs: Mapping[DisplayState, int]
    """Unfinished runs by what lists show of them."""
    playing: int
    waiting: int
    cores: int
    games_per_minute: float
    games: int
    """Counted so far in unfinished runs."""
    remaining_games: int
    """Of approved runs, that nobody has been asked to play yet."""
    rows: CountedRows | None


class FarmFigureReader:
    """Reads the figures for any number of callers, the rows at most every few seconds."""

    def __init__(self, fleet: Fleet, rows: FigureRows, clock: Clock) -> None:
        self._fleet = fleet
        self._rows = rows
        self._counted: ExpiringCache[str, CountedRows] = ExpiringCache(clock, most=1)
        self._work: SharedWork[str, CountedRows] = SharedWork()

    async def read(self) -> FarmFigures:
        """Whatever can be had: who watches must be told most when something is wrong."""
        try:
            active = await self._fleet.views.active()
        except (Rebuilding, StateLost):
            active = ()
        except Exception as error:
            if not is_outage(error):
                raise
            active = ()
        activity = self._fleet.activity
        pace = sum(each.games_per_minute for each in activity.speeds.values())
        return summarize(active, activity.waiting_machines, pace, await self._count())

    async def _count(self) -> CountedRows | None:
        known = self._counted.get("")
        if known is not None:
            return known
        try:
            known = await self._work("", self._rows.count)
        except Exception as error:
            if is_outage(error):
                return None
            raise
        self._counted.put("", known, REMEMBERED_SECONDS)
        return known


def summarize(
    active: Iterable[Run], waiting: int, pace: float, rows: CountedRows | None
) -> FarmFigures:
    """The figures of these unfinished runs."""
    runs = tuple(active)
    approved = [run for run in runs if run.status.approved]
    states = Counter(run.display for run in runs)
    shown = (DisplayState.PENDING, DisplayState.PAUSED, DisplayState.ACTIVE)
    return FarmFigures(
        runs={state: states[state] for state in shown},
        playing=sum(run.tally.workers for run in runs),
        waiting=waiting,
        cores=sum(run.tally.cores for run in runs),
        games_per_minute=pace,
        games=sum(run.tally.results.games for run in runs),
        remaining_games=sum(max(0, run.remaining) for run in approved),
        rows=rows,
    )
