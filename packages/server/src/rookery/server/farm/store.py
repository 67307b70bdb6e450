"""Opens the fleet's rows in PostgreSQL: the primary gets a new group commit from here after each
loss."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from typing import TypeAlias

import msgspec

from rookery.server.db.fence import Fence
from rookery.server.db.lease import Lease
from rookery.server.db.pool import AWAY, EventLog, Pool, Queries, quiet
from rookery.server.farm.commits import (
    STANDARD_LIMITS,
    CommitLimits,
    CommitListener,
    CommitStats,
    GroupCommit,
)
from rookery.server.farm.events import Bus
from rookery.server.farm.reads import FleetReads, Recovery
from rookery.server.farm.writing import Writer

# Notices tell every process which runs a commit has changed. They are combined and sent at most
# four times a second; a process that misses one catches up by the sequence number.

PAUSE_SECONDS = 0.25
MOST_NAMED = 250
"""The most runs that a notice names, since it holds at most 8,000 bytes; with more it names none
and means any."""


class CommitNotice(msgspec.Struct, frozen=True):
    """What listeners receive: the runs changed by commits after `after` up to `sequence`. A
    listener that has not heard of `after` has missed a notice; without `runs`, any run may have
    changed."""

    after: int
    sequence: int
    runs: tuple[str, ...] | None = None


def publish_notice(text: str, bus: Bus) -> None:
    """Pass a received notice to the bus; an unreadable one counts as missed."""
    try:
        notice = msgspec.json.decode(text, type=CommitNotice)
    except msgspec.MsgspecError:
        bus.miss()
    else:
        bus.hear(notice.after, notice.sequence, notice.runs)


class Notices:
    """Collects commits and sends notices of them from a separate task."""

    def __init__(self, pool: Pool, queries: Queries, *, log: EventLog = quiet) -> None:
        self._pool = pool
        self._queries = queries
        self._log = log
        self._runs: set[str] = set()
        self._told = 0
        self._sequence = 0
        self._due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self, sequence: int) -> None:
        """Start a term: listeners may have missed commits before this one, because the previous
        primary died before it sent its notice. They are sent the number, and catch up."""
        self._told = self._sequence = max(self._sequence, sequence)
        if sequence:
            self._due.set()

    def add(self, sequence: int, runs: Iterable[str]) -> None:
        self._sequence = max(self._sequence, sequence)
        self._runs.update(runs)
        self._due.set()

    def start(self) -> None:
        """Start sending; further calls do nothing."""
        if self._task is None:
            self._task = asyncio.create_task(self._send(), name="fleet notices")

    async def stop(self) -> None:
        """Send what is pending and end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None
        if self._due.is_set():
            await self._tell(self._taken())

    async def _send(self) -> None:
        while True:
            await self._due.wait()
            await self._tell(self._taken())
            await asyncio.sleep(PAUSE_SECONDS)

    def _taken(self) -> CommitNotice:
        self._due.clear()
        runs, self._runs = self._runs, set()
        named = tuple(sorted(runs)) if len(runs) <= MOST_NAMED else None
        return CommitNotice(self._told, self._sequence, named)

    async def _tell(self, notice: CommitNotice) -> None:
        # Set even if sending fails: the next notice then reveals that one is missing.
        self._told = notice.sequence
        try:
            text = msgspec.json.encode(notice).decode()
            await self._pool.execute(self._queries["commits_tell"], text)
        except AWAY as error:
            self._log("notice_not_sent", sequence=notice.sequence, reason=repr(error))


FLUSH_SECONDS = 5.0
OnLoss: TypeAlias = Callable[[str], object]


def ignored(_reason: str) -> None:
    """Do nothing: a callback for owners that learn of a loss from the commits they wait for."""


class FleetStore:
    """Creates one group commit per term. Used only on the event loop."""

    def __init__(  # noqa: PLR0913 - the last four have usual values
        self,
        pool: Pool,
        queries: Queries,
        lease: Lease,
        *,
        limits: CommitLimits = STANDARD_LIMITS,
        lost: OnLoss = ignored,
        listeners: Collection[CommitListener] = (),
        log: EventLog = quiet,
    ) -> None:
        self.reads = FleetReads(pool, queries)
        self._pool = pool
        self._queries = queries
        self._lease = lease
        self._limits = limits
        self._lost = lost
        self._log = log
        self._notices = Notices(pool, queries, log=log)
        self._listeners = (self._notices, *listeners)
        self._commits: GroupCommit | None = None
        self._fence: Fence | None = None
        self._writer: Writer | None = None

    async def take(self) -> GroupCommit:
        """End the previous group commit and start one behind a new fence. By then, the fate of
        everything the old one sent is decided: raising the fence waits for it or make it fail."""
        await self._end("the fence is taken anew")
        self._notices.start()
        self._fence = fence = await self._lease.take()
        self.reads.recovery = Recovery(fence, self._queries, log=self._log)
        sequence = await self._sequence()
        for listener in self._listeners:
            listener.begin(sequence)
        self._writer = Writer(fence, self._queries)
        self._commits = GroupCommit(
            self._writer,
            self._listeners,
            sequence=sequence,
            limits=self._limits,
            lost=self._lost,
            log=self._log,
        )
        return self._commits

    def abandon(self, reason: str) -> None:
        """Fail all callers that wait for a commit, whose outcome is unknown."""
        if self._commits is not None:
            self._commits.abandon(reason)

    async def publish(self, part: str, body: bytes | None) -> None:
        """Publish a part of memory, behind the fence but without waiting for the disk."""
        assert self._fence is not None, "there is a term"
        async with self._fence.write() as connection:
            await connection.execute(self._queries["commits_lightly"])
            if body is None:
                await connection.execute(self._queries["activity_touch"], part)
            else:
                await connection.execute(self._queries["activity_put"], part, body)

    async def close(self) -> None:
        """Write pending changes and end."""
        if self._commits is not None:
            await self._commits.flush(FLUSH_SECONDS)
        await self._end("the store is closed")
        await self._notices.stop()

    def stats(self) -> CommitStats:
        return CommitStats() if self._commits is None else self._commits.stats()

    async def _end(self, reason: str) -> None:
        commits, self._commits = self._commits, None
        if commits is not None:
            await commits.end(reason)
        writer, self._writer = self._writer, None
        if writer is not None:
            await writer.close()

    async def _sequence(self) -> int:
        found: int = await self._pool.fetchval(self._queries["commits_sequence"])
        return found


@asynccontextmanager
async def open_fleet_store(
    pool: Pool,
    queries: Queries,
    lease: Lease,
    *,
    lost: OnLoss = ignored,
    listeners: Collection[CommitListener] = (),
    log: EventLog = quiet,
) -> AsyncIterator[FleetStore]:
    """Open a store for the length of the block."""
    store = FleetStore(pool, queries, lease, lost=lost, listeners=listeners, log=log)
    try:
        yield store
    finally:
        await store.close()
