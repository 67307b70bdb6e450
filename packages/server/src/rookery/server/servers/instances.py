"""The server processes on one database. Each writes every few seconds that it is alive and how it
is doing, for operators and for the check whether another server stands by.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

import msgspec

from rookery.core.clock import Clock, SystemClock
from rookery.core.errors import Complaint
from rookery.server.db.connecting import OwnConnection
from rookery.server.db.lease import LeaseRow
from rookery.server.db.pool import AWAY, EventLog, Pool, Queries, quiet

PRESENCE_SECONDS = 2.0
GONE_SECONDS = 10.0
"""A process that has been silent this long counts as dead."""
CLOCK_SECONDS = 1.0
"""How far clocks may differ before people are told."""
SYSTEM_CLOCK = SystemClock()


class InstanceFigures(msgspec.Struct, frozen=True, omit_defaults=True):
    """The health of a process. Other versions may send more or fewer fields."""

    loop_lag_seconds: float = 0.0
    """The longest pause of its event loop since the last report."""
    commits_behind: int = 0
    """Commits that its event bus has not heard of yet."""
    changes_waiting: int = 0
    """Changes that wait for the group commit."""
    requests: int = 0
    """Requests that are being answered now."""
    streams: int = 0
    connections: int = 0
    reads_form: int = 1
    """The newest form of calls between instances that it reads."""
    clock_off_seconds: float = 0.0
    """How far its clock is ahead of the database's; negative if it is behind."""

    @property
    def clock(self) -> str:
        """Its clock in words."""
        off = self.clock_off_seconds
        if abs(off) < CLOCK_SECONDS:
            return "agrees"
        return f"{abs(off):,.0f} s {'ahead' if off > 0 else 'behind'}"


@dataclass(frozen=True, slots=True)
class Instance:
    """A server process as it describes itself; `schema` is the last migration that it knows."""

    name: str
    address: str
    version: str
    schema: int
    role: str
    started: datetime
    figures: InstanceFigures
    silent_seconds: float = 0.0

    @property
    def is_alive(self) -> bool:
        return self.silent_seconds < GONE_SECONDS


@dataclass(frozen=True, slots=True)
class OtherInstances:
    """The answer to a process's sign of life: how many other processes live, the newest form of
    forwarded calls that all of them read (None without others), the last commit, and the database's
    clock."""

    others: int = 0
    sequence: int = 0
    reads_form: int | None = None
    time: datetime | None = None


class StepDown(msgspec.Struct, frozen=True):
    """Asks the holder of the lease to release it, to the named process or to any."""

    holder: str
    to: str = ""


class NoStepDown(Complaint):
    """Nobody can step down, or nobody has taken over."""


def check_step_down(lease: LeaseRow, found: Sequence[Instance], to: str) -> None:
    """Raises NoStepDown if no process is primary, or none could take over."""
    others = [each.name for each in found if each.is_alive and each.name != lease.holder]
    if not lease.live:
        raise NoStepDown("Nobody is primary just now.")
    if to == lease.holder:
        raise NoStepDown(f"{to} is primary already.")
    if not others:
        raise NoStepDown("There is no other server on this database that could take over.")
    if to and to not in others:
        raise NoStepDown(f"There is no server {to}; the other servers are: {', '.join(others)}.")


def check_taken_over(before: str, after: str, to: str) -> None:
    """Raises NoStepDown if another server is primary now than the one that was asked for."""
    if after == before:
        raise NoStepDown(
            f"No other server took over, so {before} is primary again: "
            "does the other one answer at /readyz?"
        )
    if to and after != to:
        raise NoStepDown(f"{after} is primary now: {to} did not take over in time.")


def read_step_down(text: str) -> StepDown | None:
    """Parses a step-down request; None for any other notice about the lease."""
    try:
        return msgspec.json.decode(text, type=StepDown)
    except msgspec.MsgspecError:
        return None


def find_offset(there: datetime, before: datetime, after: datetime) -> float:
    """How many seconds our clock is ahead of one that was read between two times of ours, beyond
    the uncertainty of the measurement; negative if it is behind."""
    ahead, behind = before - there, there - after
    return max(ahead.total_seconds(), 0.0) - max(behind.total_seconds(), 0.0)


class InstanceRows:
    """Rows of server processes. Writes don't go through the fence, because processes that are not
    primary report too."""

    def __init__(self, pool: "Pool | OwnConnection", queries: Queries) -> None:
        self._pool = pool
        self._queries = queries

    async def put(self, instance: Instance) -> OtherInstances:
        row = await self._pool.fetchrow(
            self._queries["instances_put"],
            instance.name,
            instance.address,
            instance.version,
            instance.schema,
            instance.role,
            instance.started,
            msgspec.json.encode(instance.figures).decode(),
        )
        assert row is not None
        return OtherInstances(**row)

    async def list_all(self) -> tuple[Instance, ...]:
        """The processes heard of lately, dead ones included; the primary first."""
        rows = await self._pool.fetch(self._queries["instances_all"])
        return tuple(Instance(**{**row, "figures": _read_figures(row["figures"])}) for row in rows)

    async def ask_step_down(self, asked: StepDown) -> None:
        text = msgspec.json.encode(asked).decode()
        await self._pool.execute(self._queries["lease_tell"], text)

    async def remove(self, name: str) -> None:
        await self._pool.execute(self._queries["instances_remove"], name)


def _read_figures(text: str) -> InstanceFigures:
    return msgspec.json.decode(text, type=InstanceFigures)


class Presence:
    """Reports this process as alive and learns of the others. Used only on the event loop."""

    def __init__(
        self,
        rows: InstanceRows,
        describe: Callable[[], Instance],
        log: EventLog = quiet,
        learn: Callable[[OtherInstances], object] = lambda _others: None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`learn` is called with the other processes after each report."""
        self._rows = rows
        self._describe = describe
        self._log = log
        self._learn = learn
        self._clock = clock
        self.other_instances = OtherInstances()
        self.clock_off_seconds = 0.0
        """How far this process's clock is ahead of the database's, according to the last report."""

    @asynccontextmanager
    async def kept(self) -> AsyncIterator["Presence"]:
        """Reports this process as alive for the length of the block, and at its end as gone."""
        # This also removes rows of processes that died long ago: a crash loop leaves many.
        with contextlib.suppress(*AWAY):
            await self._rows.remove(self._describe().name)
        await self._tell()
        task = asyncio.create_task(self._keep_telling(), name="presence")
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.wait([task])
            with contextlib.suppress(*AWAY):
                await self._rows.remove(self._describe().name)

    async def _keep_telling(self) -> None:
        while True:
            await asyncio.sleep(PRESENCE_SECONDS)
            await self._tell()

    async def _tell(self) -> None:
        before = self._clock.now()
        try:
            self.other_instances = await self._rows.put(self._describe())
            if there := self.other_instances.time:
                self.clock_off_seconds = find_offset(there, before, self._clock.now())
            self._learn(self.other_instances)
        except AWAY as error:
            self._log("presence_not_told", reason=repr(error))
