"""Counts users' contributions when a run is over, and keeps the measured speeds of engines."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import TypeVar

from rookery.core.clock import Clock
from rookery.core.model.engine import UPLOADED
from rookery.core.model.kinds import Report
from rookery.core.model.machine import Machine
from rookery.core.model.plan import Plan
from rookery.core.model.run import Run, RunFault, core_hours
from rookery.server.boundary.domains import Domain, runs
from rookery.server.caches import ExpiringCache
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.answers import HeldTask
from rookery.server.farm.rules.judgement import late_games
from rookery.server.farm.statistics_rows import (
    MOST_ENGINES,
    Credit,
    Due,
    IdleSince,
    Played,
    SpeedRows,
    Statistics,
    ToldSpeeds,
)
from rookery.server.farm.views import FleetViews

RUNS_AT_A_TIME = 20
MONTH = timedelta(days=30)
ACCOUNTS_AT_A_TIME = 50
IDLE_WINDOW = timedelta(days=10)
LATEST = timedelta(hours=1)
"""How long after the end of a run late games are credited: a pair of long games may take this
long."""
MOST_ENDED = 1000
ENDED_SECONDS = 60.0


@runs(Domain.LOOP, "awaits the rows of a few runs at a time")
class Accounting:
    """The periodic job that counts contributions, a few runs at a time, so that a first count of
    many years is no great load."""

    def __init__(
        self,
        rows: Statistics,
        reads: FleetReads,
        clock: Clock,
        *,
        idle_days: int = 0,
        at_a_time: int = ACCOUNTS_AT_A_TIME,
    ) -> None:
        """Accounts that were never used are deleted after `idle_days` days, or kept if it is 0."""
        self._rows = rows
        self._idle_days = idle_days
        self._at_a_time = at_a_time
        self._reads = reads
        self._clock = clock

    async def __call__(self) -> None:
        while due := await self._rows.due(RUNS_AT_A_TIME):
            for each in due:
                await self._count(each)
        await self._rows.sum_up(self._clock.now() - MONTH)
        if self._idle_days:
            await self._delete_idle_accounts()

    async def _delete_idle_accounts(self) -> None:
        """Delete accounts that were never used. This runs after the count, so that all games are
        known. Accounts that passed the limit long ago are kept: a server that was down for long, or
        has just enabled this, does not delete many at once."""
        now = self._clock.now()
        before = now - timedelta(days=self._idle_days)
        message = f"not used within {self._idle_days} days"
        idle = IdleSince(before - IDLE_WINDOW, before, now, message)
        most = self._at_a_time
        while len(await self._rows.drop_idle(idle, most)) == most:
            pass

    async def _count(self, due: Due) -> None:
        run = await self._reads.run(due.run)
        assert run is not None, due
        played = await self._rows.played(due.run)
        await self._rows.credit(due, [_credit(run, each) for each in played])


class LateGames:
    """Credits games that were played while a run ended: a worker that learns of the end from the
    answer to its report has played the games of that report."""

    def __init__(self, rows: Statistics, fleet: FleetViews, clock: Clock) -> None:
        self._rows = rows
        self._fleet = fleet
        self._clock = clock
        self._ended: ExpiringCache[str, Run] = ExpiringCache(clock, MOST_ENDED)

    async def credit(self, call: HeldTask, report: Report) -> int:
        """Return how many games are credited to the caller, though they don't count for the
        result."""
        run, now = await self._run(call.run), self._clock.now()
        if not run.status.finished or now - run.updated > LATEST:
            return 0
        try:
            task = await self._fleet.own_task(call)
        except RunFault:
            return 0
        games = late_games(run, task, report, now)
        if games:
            await self._rows.note_late(call.run, call.task, games, now)
        return games

    async def _run(self, run_id: str) -> Run:
        run = self._ended.get(run_id)
        if run is None:
            run = await self._fleet.known_run(run_id)
            self._ended.put(run_id, run, ENDED_SECONDS)
        return run


def _credit(run: Run, played: Played) -> Credit:
    hours = core_hours(run, played.games)
    return Credit(played.user_name, played.games, hours, played.last)


# How fast machines play engines, according to their latest reports.
#
# An engine whose record has no reference speed is scaled to the median of these speeds, which is
# stored in the run when it is created. The speeds are kept in memory, because machines report them
# with every batch, and are saved now and then, so that a restart does not lose those of engines
# that nobody plays at the time.

V = TypeVar("V")

MOST_MACHINES = 1000


class Speeds:
    """The latest speeds of engines by machine. One per process, changed only on the event loop; the
    least recently reported are dropped first."""

    def __init__(self) -> None:
        self._told: OrderedDict[str, OrderedDict[str, float]] = OrderedDict()
        self._unsaved: set[str] = set()

    def note(self, plan: Plan, machine: Machine) -> None:
        """Note the speed that a machine reported. Only our workers measure each engine itself, and
        the speed is certain only if both sides are the same engine. Uploaded programs are ignored:
        they share nothing but their name.
        """
        name = plan.engine
        alike = all(side.engine == name for side in plan.sides)
        if machine.abilities.rookery and machine.nps > 0 and alike and name != UPLOADED.name:
            told = self._told.setdefault(name, OrderedDict())
            told[machine.short_name] = machine.nps
            told.move_to_end(machine.short_name)
            self._told.move_to_end(name)
            self._unsaved.add(name)
            _shorten(told, MOST_MACHINES)
            _shorten(self._told, MOST_ENGINES)

    def median(self, engine: str) -> float:
        """Return the median of nodes per second and thread; 0 if nobody has played the engine
        yet."""
        return median(self._told[engine].values()) if engine in self._told else 0.0

    def unsaved(self) -> tuple[ToldSpeeds, ...]:
        """Return the speeds of engines reported since the last call."""
        names, self._unsaved = self._unsaved, set()
        return tuple(
            ToldSpeeds(name, tuple(told.items()))
            for name, told in self._told.items()
            if name in names
        )

    def put_off(self, told: Iterable[ToldSpeeds]) -> None:
        """Return speeds that could not be saved to the list of unsaved ones."""
        self._unsaved |= {each.engine for each in told} & self._told.keys()

    def learn(self, kept: Iterable[ToldSpeeds]) -> None:
        """Take over saved speeds, except for engines with newer reports in this process."""
        for each in kept:
            if each.engine not in self._unsaved:
                self._told[each.engine] = OrderedDict(each.machines)
                self._told.move_to_end(each.engine)
        _shorten(self._told, MOST_ENGINES)


@runs(Domain.LOOP, "awaits a write for each engine that was played")
@dataclass(frozen=True, slots=True)
class SpeedKeeping:
    """The periodic job: the primary saves speeds, the other processes read them."""

    speeds: Speeds
    rows: SpeedRows
    clock: Clock
    is_primary: Callable[[], bool]

    async def load(self) -> None:
        self.speeds.learn(await self.rows.list_all())

    async def __call__(self) -> None:
        if not self.is_primary():
            await self.load()
            return
        due = list(self.speeds.unsaved())
        try:
            while due:
                await self.rows.save(due[0], self.clock.now())
                del due[0]
        finally:
            self.speeds.put_off(due)


def _shorten(kept: "OrderedDict[str, V]", most: int) -> None:
    while len(kept) > most:
        kept.popitem(last=False)
