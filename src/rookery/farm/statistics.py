"""What users' machines gave, counted once a run is over, and how fast they play engines."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import TypeVar

from rookery.boundary.domains import Domain, runs
from rookery.caches import ExpiringCache
from rookery.clock import Clock
from rookery.farm.reads import FleetReads
from rookery.farm.statistics_rows import (
    MOST_ENGINES,
    Credit,
    Due,
    IdleSince,
    Played,
    SpeedRows,
    Statistics,
    ToldSpeeds,
)
from rookery.farm.views import FleetViews
from rookery.model.engine import UPLOADED
from rookery.model.kinds import Report
from rookery.model.machine import Machine
from rookery.model.plan import Plan
from rookery.model.run import Run, RunFault, core_hours
from rookery.rules.answers import HeldTask
from rookery.rules.reception import late_games

RUNS_AT_A_TIME = 20
MONTH = timedelta(days=30)
ACCOUNTS_AT_A_TIME = 50
IDLE_WINDOW = timedelta(days=10)
LATEST = timedelta(hours=1)
"""After the end of a run: a pair of long games may take as long."""
MOST_ENDED = 1000
ENDED_SECONDS = 60.0


@runs(Domain.LOOP, "awaits the rows of a few runs at a time")
class Accounting:
    """The job: a few runs at a time, so that a first count of many years is no great effort."""

    def __init__(
        self,
        rows: Statistics,
        reads: FleetReads,
        clock: Clock,
        *,
        idle_days: int = 0,
        at_a_time: int = ACCOUNTS_AT_A_TIME,
    ) -> None:
        """Accounts that were never used are parted with after so many days; 0: they stay."""
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
        """After the count, so that whatever was played is known. Older accounts are left alone: a
        server that was away for long, or has just begun with this, parts with nobody at once."""
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
    """Credits what was played in good faith while a run ended. Whoever learns of the end by the
    answer to a report has played what is in that report."""

    def __init__(self, rows: Statistics, fleet: FleetViews, clock: Clock) -> None:
        self._rows = rows
        self._fleet = fleet
        self._clock = clock
        self._ended: ExpiringCache[str, Run] = ExpiringCache(clock, MOST_ENDED)

    async def credit(self, call: HeldTask, report: Report) -> int:
        """How many games count for the caller, though not for the result."""
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


# How fast machines play engines, as they told with their last results.
#
# An engine whose record names no reference speed is scaled to the median of these, which stays
# with a run once it is made. They are in memory, because whoever plays tells them with every
# batch, and are written down now and then, so that a restart does not forget the engines nobody
# plays just then.

V = TypeVar("V")

MOST_MACHINES = 1000


class Speeds:
    """One per process; the event loop alone writes here. What was told last is kept longest."""

    def __init__(self) -> None:
        self._told: OrderedDict[str, OrderedDict[str, float]] = OrderedDict()
        self._unsaved: set[str] = set()

    def note(self, plan: Plan, machine: Machine) -> None:
        """Only a worker of ours measures each engine by itself, and only where both sides are one
        engine is it known which was measured. Uploaded programs have nothing but a name in common.
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
        """Nodes per second and thread; 0 where nobody has played it yet."""
        return median(self._told[engine].values()) if engine in self._told else 0.0

    def unsaved(self) -> tuple[ToldSpeeds, ...]:
        """Engines of which something was told since this was asked last, as they are now."""
        names, self._unsaved = self._unsaved, set()
        return tuple(
            ToldSpeeds(name, tuple(told.items()))
            for name, told in self._told.items()
            if name in names
        )

    def put_off(self, told: Iterable[ToldSpeeds]) -> None:
        """These could not be saved; the next time they are asked for again."""
        self._unsaved |= {each.engine for each in told} & self._told.keys()

    def learn(self, kept: Iterable[ToldSpeeds]) -> None:
        """What was written down; what was told here since then counts more."""
        for each in kept:
            if each.engine not in self._unsaved:
                self._told[each.engine] = OrderedDict(each.machines)
                self._told.move_to_end(each.engine)
        _shorten(self._told, MOST_ENGINES)


@runs(Domain.LOOP, "awaits a write for each engine that was played")
@dataclass(frozen=True, slots=True)
class SpeedKeeping:
    """The job: the primary writes down what it was told, every other process reads it."""

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
