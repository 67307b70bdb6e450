"""The farm in figures, for monitoring: runs by state, machines, games, and how much waits or has
failed. There are only numbers, no names."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rookery.core.clock import Clock
from rookery.core.model.run import DisplayState, Run
from rookery.server.caches import ExpiringCache, SharedWork
from rookery.server.db.fence import is_outage
from rookery.server.db.table import Table
from rookery.server.farm.commits import StateLost
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.primary import Rebuilding

REMEMBERED_SECONDS = 15.0
"""How long figures are kept; one scraper asks about this often, and there may be several."""
ANSWER_SECONDS = 4.0
"""How long a scrape may take; scrapers wait for ten seconds. Queries are not cancelled at this
limit, because cancelling one takes the driver ten seconds on a connection that hangs."""


@dataclass(frozen=True, slots=True)
class CountedRows:
    """The counts that one query returns: failures of the last hour, and deliveries that were given
    up within the last day."""

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
    """The age of the latest backup; None if there is none."""


class FigureRows(Table):
    async def count(self) -> CountedRows:
        found = await self._one(CountedRows, "farm_figures")
        return found or CountedRows()


@dataclass(frozen=True, slots=True)
class FarmFigures:
    """All figures at one moment; `rows` is None while the database does not answer."""

    runs: Mapping[DisplayState, int]
    """The number of unfinished runs by the state that lists show."""
    playing: int
    waiting: int
    cores: int
    games_per_minute: float
    games: int
    """Games counted so far in unfinished runs."""
    remaining_games: int
    """Games of approved runs that have not been given out yet."""
    rows: CountedRows | None


class FarmFigureReader:
    """Reads the figures for any number of callers, the rows at most every few seconds."""

    def __init__(self, fleet: Fleet, rows: FigureRows, clock: Clock) -> None:
        self._fleet = fleet
        self._rows = rows
        self._counted: ExpiringCache[str, CountedRows] = ExpiringCache(clock, most=1)
        self._counting: SharedWork[str, CountedRows] = SharedWork()
        self._listing: SharedWork[str, tuple[Run, ...]] = SharedWork()

    async def read(self) -> FarmFigures:
        """Read whatever is available, because monitoring matters most when something is wrong."""
        active, rows = await asyncio.gather(self._list_active(), self._count())
        activity = self._fleet.activity
        pace = sum(each.games_per_minute for each in activity.speeds.values())
        return summarize(active, activity.waiting_machines, pace, rows)

    async def _list_active(self) -> tuple[Run, ...]:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._listing("", self._fleet.views.active)
        except (Rebuilding, StateLost, TimeoutError):
            return ()
        except Exception as error:
            if not is_outage(error):
                raise
            return ()

    async def _count(self) -> CountedRows | None:
        known = self._counted.get("")
        if known is not None:
            return known
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                known = await self._counting("", self._rows.count)
        except TimeoutError:
            return None
        except Exception as error:
            if is_outage(error):
                return None
            raise
        self._counted.put("", known, REMEMBERED_SECONDS)
        return known


def summarize(
    active: Iterable[Run], waiting: int, pace: float, rows: CountedRows | None
) -> FarmFigures:
    """Return the figures of these unfinished runs."""
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
