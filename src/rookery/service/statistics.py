"""What users' machines gave to the fleet: counted by a job once a run is over, never live."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from rookery.clock import Clock
from rookery.core.answers import TaskCall
from rookery.core.faults import RunFault
from rookery.core.folding import late_games
from rookery.core.kinds import Report
from rookery.core.rates import core_hours
from rookery.core.run import Run
from rookery.service.fleet.ports import FleetReads
from rookery.service.fleet.views import Views
from rookery.service.remembered import Remembered

RUNS_AT_A_TIME = 20
MONTH = timedelta(days=30)
ACCOUNTS_AT_A_TIME = 50
IDLE_WINDOW = timedelta(days=10)
LATEST = timedelta(hours=1)
"""After the end of a run: a pair of long games may take as long."""
MOST_ENDED = 1000
ENDED_SECONDS = 60.0


class Period(enum.StrEnum):
    """Over which time sums are kept."""

    ALL = "all"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class Due:
    """A run that is over and not counted yet, with the number of its row."""

    run: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Played:
    """What one user's machines played in a run, and when they reported last."""

    user_name: str
    games: int
    last: datetime


@dataclass(frozen=True, slots=True)
class Credit:
    """The same with the time that it took."""

    user_name: str
    games: int
    core_hours: float
    last: datetime


@dataclass(frozen=True, slots=True)
class Contributor:
    """A user as lists of contributors show them; `tests` are runs they submitted."""

    user_name: str
    games: int
    core_hours: float
    tests: int
    last: datetime | None


@dataclass(frozen=True, slots=True)
class IdleSince:
    """Accounts to part with: those made in between that nobody has used for anything."""

    after: datetime
    before: datetime
    now: datetime
    message: str


class Statistics(Protocol):
    """The rows. Any process may write them."""

    async def due(self, limit: int) -> tuple[Due, ...]:
        """Runs that are over and were not counted as they are now."""
        ...

    async def played(self, run_id: str) -> tuple[Played, ...]: ...

    async def credit(self, due: Due, credits_: Sequence[Credit]) -> None:
        """Puts these in the place of what the run was counted for before."""
        ...

    async def note_late(self, run: str, task: int, games: int, at: datetime) -> None:
        """So many games of a task came after the end of its run; it is to be counted again."""
        ...

    async def sum_up(self, since: datetime) -> None:
        """Adds up anew, over all time and since then."""
        ...

    async def drop_idle(self, idle: IdleSince, most: int) -> tuple[str, ...]:
        """Removes so many such accounts at the most, with a line in the log for each; their names.

        An account stays that has a run, games, a machine, a token, a team, rights, an upload or
        any deed in the log, that is blocked, or that an administrator has made."""
        ...

    async def page(self, period: Period, first: int, count: int) -> tuple[Contributor, ...]:
        """Those who gave most come first."""
        ...

    async def core_hours(self, user: str) -> float:
        """What the user's machines gave in all, as far as it was counted."""
        ...


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
            await self._part_with_the_idle()

    async def _part_with_the_idle(self) -> None:
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

    def __init__(self, rows: Statistics, fleet: Views, clock: Clock) -> None:
        self._rows = rows
        self._fleet = fleet
        self._clock = clock
        self._ended: Remembered[str, Run] = Remembered(clock, MOST_ENDED)

    async def credit(self, call: TaskCall, report: Report) -> int:
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
