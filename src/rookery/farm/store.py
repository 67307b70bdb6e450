"""The fleet's rows in PostgreSQL: what the primary opens once and takes up again after a loss."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from typing import TypeAlias

import msgspec

from rookery.db.fence import Fence
from rookery.db.lease import Lease
from rookery.db.pool import AWAY, EventLog, Pool, Queries, quiet
from rookery.farm.commits import (
    STANDARD_LIMITS,
    CommitLimits,
    CommitListener,
    CommitStats,
    GroupCommit,
)
from rookery.farm.events import Bus
from rookery.farm.reads import FleetReads, Recovery
from rookery.farm.writing import Writer

# Tells every process after a commit which runs have changed: coalesced, at most four times a
# second. Who misses one catches up by the sequence number.

PAUSE_SECONDS = 0.25
MOST_NAMED = 250
"""A notice holds 8,000 bytes at most; beyond this many runs it names none and means any."""


class CommitNotice(msgspec.Struct, frozen=True):
    """What listeners are sent: commits after one, up to another, and the runs they changed. Who
    has not heard of the first has missed something; without `runs`, any may have changed."""

    after: int
    sequence: int
    runs: tuple[str, ...] | None = None


def publish_notice(text: str, bus: Bus) -> None:
    """What was heard; a notice that can't be read is one that was missed."""
    try:
        notice = msgspec.json.decode(text, type=CommitNotice)
    except msgspec.MsgspecError:
        bus.miss()
    else:
        bus.hear(notice.after, notice.sequence, notice.runs)


class Notices:
    """Collects what was committed, and sends it from a task of its own."""

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
        """Of commits before this one, listeners may not have been told, because the primary before
        us died with its notice: they are told the number, and catch up."""
        self._told = self._sequence = max(self._sequence, sequence)
        if sequence:
            self._due.set()

    def add(self, sequence: int, runs: Iterable[str]) -> None:
        self._sequence = max(self._sequence, sequence)
        self._runs.update(runs)
        self._due.set()

    def start(self) -> None:
        """Sends from now on; once is enough."""
        if self._task is None:
            self._task = asyncio.create_task(self._send(), name="fleet notices")

    async def stop(self) -> None:
        """Sends what is due, and ends."""
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
        # Also when it fails: the next notice then shows that one is missing.
        self._told = notice.sequence
        try:
            text = msgspec.json.encode(notice).decode()
            await self._pool.execute(self._queries["commits_tell"], text)
        except AWAY as error:
            self._log("notice_not_sent", sequence=notice.sequence, reason=repr(error))


FLUSH_SECONDS = 5.0
OnLoss: TypeAlias = Callable[[str], object]


def ignored(_reason: str) -> None:
    """For owners who learn of a loss from what they wait for."""


class FleetStore:
    """Gives out one group commit per term. Used on the loop alone."""

    def __init__(
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

    async def take(self) -> GroupCommit:
        """Ends the group commit given before and starts one behind a new fence. Whatever the old
        one sent is decided by then: raising the fence waits for it, or refuses it."""
        await self._end("the fence is taken anew")
        self._notices.start()
        self._fence = fence = await self._lease.take()
        self.reads.recovery = Recovery(fence, self._queries, log=self._log)
        sequence = await self._sequence()
        for listener in self._listeners:
            listener.begin(sequence)
        self._commits = GroupCommit(
            Writer(fence, self._queries),
            self._listeners,
            sequence=sequence,
            limits=self._limits,
            lost=self._lost,
            log=self._log,
        )
        return self._commits

    def abandon(self, reason: str) -> None:
        """All who wait for a commit are told that nobody knows what becomes of it."""
        if self._commits is not None:
            self._commits.abandon(reason)

    async def publish(self, part: str, body: bytes | None) -> None:
        """Behind the fence, and not waited for to reach the disk."""
        assert self._fence is not None, "there is a term"
        async with self._fence.write() as connection:
            await connection.execute(self._queries["commits_lightly"])
            if body is None:
                await connection.execute(self._queries["activity_touch"], part)
            else:
                await connection.execute(self._queries["activity_put"], part, body)

    async def close(self) -> None:
        """Writes what was put, and ends."""
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
    """A store that is closed in the end, whoever has taken it up."""
    store = FleetStore(pool, queries, lease, lost=lost, listeners=listeners, log=log)
    try:
        yield store
    finally:
        await store.close()
