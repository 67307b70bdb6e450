"""Being primary: taking the fence, and the heartbeat that says for how long.

Expiry is judged by the database's clock. The holder counts by its own, from before it sent the
renewal and on a clock that goes on while the machine sleeps: so it stops believing in its lease
before anyone else may take it.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

import asyncpg

from rookery.storage.fence import Fence, FencedOff
from rookery.storage.log import Log, quiet
from rookery.storage.pool import AWAY, Connection, Pool, application_name
from rookery.storage.problems import Problem
from rookery.storage.queries import Queries

LEASE_SECONDS = 10.0
RENEWALS_PER_LEASE = 3
TAKEOVER_SECONDS = 10.0


class LeaseHeld(Problem):
    """Another process is primary ({holder} at {address}), with a lease for {seconds:.0f} s more."""


class TakeoverBlocked(Problem):
    """The fence could not be taken within {seconds:.0f} s: writes that do not end hold it."""


def boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class Primary:
    """What the lease row says: who is primary, and where."""

    epoch: int
    holder: str
    address: str
    live: bool


class Lease:
    """This process's claim to be primary; one object, changed on the loop alone."""

    def __init__(
        self,
        pool: Pool,
        queries: Queries,
        *,
        instance: str,
        address: str,
        seconds: float = LEASE_SECONDS,
        clock: Callable[[], float] = boottime,
    ) -> None:
        self._pool = pool
        self._queries = queries
        self._instance = instance
        self._address = address
        self._seconds = seconds
        self._clock = clock
        self._epoch: int | None = None
        self._valid_until = 0.0
        self._hear: Callable[[str], object] | None = None
        # A renewal that a takeover of our own overtook would look like another's takeover.
        self._turn = asyncio.Lock()

    def on_loss(self, hear: Callable[[str], object]) -> None:
        """Have it told why, when another process has taken over: also where nobody writes."""
        self._hear = hear

    def is_held(self) -> bool:
        """Whether this process may still speak as primary; to be asked at each answer."""
        return self._epoch is not None and self._clock() < self._valid_until

    async def read(self) -> Primary:
        row = await self._pool.fetchrow(self._queries["lease_read"])
        assert row is not None
        return Primary(row["epoch"], row["holder"], row["address"], row["live"])

    async def take(self, *, force: bool = False, seconds: float = TAKEOVER_SECONDS) -> Fence:
        """Becomes primary; raises LeaseHeld while another is, unless told that it cannot be alive.

        Forcing is right for an embedded database, whose folder is locked by us alone.
        """
        deadline = self._clock() + seconds
        attempt = 0
        while self._clock() < deadline:
            try:
                async with self._turn:
                    return await self._attempt(force=force, insist=attempt > 0)
            except asyncpg.LockNotAvailableError:
                attempt += 1
        raise TakeoverBlocked(seconds=seconds)

    async def _attempt(self, *, force: bool, insist: bool) -> Fence:
        asked = self._clock()
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(self._queries["fence_takeover_patience"])
            await self._end_sessions(connection, force=force, insist=insist)
            epoch: int = await connection.fetchval(self._queries["fence_raise"])
            await connection.execute(
                self._queries["lease_take"], epoch, self._instance, self._address, self._seconds
            )
        self._epoch, self._valid_until = epoch, asked + self._seconds
        return Fence(self._pool, self._queries, epoch)

    async def _end_sessions(self, connection: Connection, *, force: bool, insist: bool) -> None:
        """Ends the sessions of the primary before us, and those that held up our last attempt."""
        row = await connection.fetchrow(self._queries["lease_look"])
        assert row is not None
        holder, left = row["holder"], row["seconds_left"]
        if holder != self._instance:
            if left > 0 and not force:
                raise LeaseHeld(holder=holder, address=row["address"], seconds=left)
            await connection.execute(self._queries["fence_end_holder"], application_name(holder))
        if insist:
            await connection.execute(self._queries["fence_end_stragglers"])

    async def renew(self) -> None:
        """One heartbeat; raises FencedOff when another process is primary by now."""
        async with self._turn:
            await self._renew()

    async def _renew(self) -> None:
        asked, epoch = self._clock(), self._epoch
        found = await self._pool.fetchval(
            self._queries["lease_renew"], epoch, self._seconds, timeout=self._seconds / 2
        )
        if self._epoch != epoch:
            return  # taken anew meanwhile, by this very process
        if found is None:
            self._epoch, fenced = None, FencedOff(epoch=epoch)
            if self._hear is not None:
                self._hear(str(fenced))
            raise fenced
        self._valid_until = asked + self._seconds

    async def keep(self, *, log: Log = quiet) -> None:
        """Renews until another process has taken over; a database that is away is asked again."""
        while True:
            await asyncio.sleep(self._seconds / RENEWALS_PER_LEASE)
            if self._epoch is None:
                continue
            try:
                await self.renew()
            except AWAY as error:
                log("lease_not_renewed", reason=repr(error), held=self.is_held())

    async def release(self) -> None:
        """Lets another process take over at once; answers as primary end with it."""
        epoch, self._epoch = self._epoch, None
        if epoch is not None:
            await self._pool.execute(self._queries["lease_release"], epoch)
