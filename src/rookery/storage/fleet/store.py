"""The fleet's rows in PostgreSQL: what the primary opens once and takes up again after a loss."""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import TypeAlias

from rookery.service.fleet.ports import CommitStats, Hears
from rookery.storage.fleet.commits import STANDARD_LIMITS, GroupCommit, Limits
from rookery.storage.fleet.notices import Notices
from rookery.storage.fleet.reads import PostgresReads
from rookery.storage.fleet.recovery import Recovery
from rookery.storage.fleet.writing import Writer
from rookery.storage.lease import Lease
from rookery.storage.log import Log, quiet
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries

FLUSH_SECONDS = 5.0
OnLoss: TypeAlias = Callable[[str], object]


def ignored(_reason: str) -> None:
    """For owners who learn of a loss from what they wait for."""


class FleetStore:
    """Gives out one group commit per tenure. Used on the loop alone."""

    def __init__(
        self,
        pool: Pool,
        queries: Queries,
        lease: Lease,
        *,
        limits: Limits = STANDARD_LIMITS,
        lost: OnLoss = ignored,
        hears: Collection[Hears] = (),
        log: Log = quiet,
    ) -> None:
        self.reads = PostgresReads(pool, queries)
        self._pool = pool
        self._queries = queries
        self._lease = lease
        self._limits = limits
        self._lost = lost
        self._log = log
        self._notices = Notices(pool, queries, log=log)
        self._hearers = (self._notices, *hears)
        self._commits: GroupCommit | None = None

    async def take(self) -> GroupCommit:
        """Ends the group commit given before and starts one behind a new fence. Whatever the old
        one sent is decided by then: raising the fence waits for it, or refuses it."""
        await self._end("the fence is taken anew")
        self._notices.start()
        fence = await self._lease.take()
        self.reads.recovery = Recovery(fence, self._queries, log=self._log)
        sequence = await self._sequence()
        for hearer in self._hearers:
            hearer.begin(sequence)
        self._commits = GroupCommit(
            Writer(fence, self._queries),
            self._hearers,
            sequence=sequence,
            limits=self._limits,
            lost=self._lost,
            log=self._log,
        )
        return self._commits

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
    hears: Collection[Hears] = (),
    log: Log = quiet,
) -> AsyncIterator[FleetStore]:
    """A store that is closed in the end, whoever has taken it up."""
    store = FleetStore(pool, queries, lease, lost=lost, hears=hears, log=log)
    try:
        yield store
    finally:
        await store.close()
