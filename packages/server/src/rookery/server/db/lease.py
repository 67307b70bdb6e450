"""The lease of the primary: taking the fence, and the heartbeat that extends the lease.

Other processes judge the expiry by the database's clock. The holder counts from the moment before
it sent the renewal, on a clock that also runs while the machine sleeps; so it regards its lease as
expired before any other process may take it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from rookery.server.db.connecting import FAILED
from rookery.server.db.fence import Fence, FencedOff
from rookery.server.db.pool import (
    AWAY,
    Connection,
    EventLog,
    Pool,
    Queries,
    application_name,
    quiet,
)
from rookery.server.db.target import Problem

LEASE_SECONDS = 10.0
"""The length of the lease where no other process can take over."""
SHARED_LEASE_SECONDS = 3.0
"""The length of the lease where others stand by: how long there is no primary after one was
killed."""
RENEWALS_PER_LEASE = 3
TAKEOVER_SECONDS = 10.0
NEXT_SECONDS = 0.05
EXPIRY_SECONDS = 0.25


class LeaseHeld(Problem):
    """Another process is primary ({holder} at {address}), with a lease for {seconds:.0f} s more."""

    def __init__(self, *, holder: str, address: str, seconds: float) -> None:
        super().__init__(holder=holder, address=address, seconds=seconds)
        self.holder, self.address, self.seconds = holder, address, seconds


def read_boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """The row of the lease: the primary's name and address."""

    epoch: int
    holder: str
    address: str
    live: bool


class Lease:
    """The lease that makes this process primary. Changed only on the event loop."""

    def __init__(  # noqa: PLR0913 - the last three have usual values
        self,
        pool: Pool,
        queries: Queries,
        *,
        instance: str,
        address: str,
        seconds: float = LEASE_SECONDS,
        clock: Callable[[], float] = read_boottime,
        renewals: "Pool | None" = None,
    ) -> None:
        """`renewals` is a separate pool for heartbeats, because a busy pool must not cost the
        lease."""
        self._pool = pool
        self._renewals = renewals or pool
        self._queries = queries
        self._instance = instance
        self._address = address
        self._seconds = seconds
        self._clock = clock
        self._epoch: int | None = None
        self._valid_until = 0.0
        self._report_loss: Callable[[str], object] | None = None
        self._report_expiry: Callable[[str], object] | None = None
        self._expiry_told = False
        # Without the lock, a renewal overtaken by a takeover of our own would look like a takeover
        # by another process.
        self._lock = asyncio.Lock()

    def on_loss(self, report: Callable[[str], object]) -> None:
        """Register a callback for the moment when another process has taken over, with the
        reason."""
        self._report_loss = report

    def on_expiry(self, report: Callable[[str], object]) -> None:
        """Register a callback for the moment when the lease has run out because it could not be
        renewed: another process may be primary from then on."""
        self._report_expiry = report

    def note_expiry(self) -> None:
        """Report an expired lease, once per expiry; to be called regularly."""
        has_expired = self._epoch is not None and not self.is_held()
        if has_expired and not self._expiry_told and self._report_expiry is not None:
            self._report_expiry("The lease has run out and could not be renewed.")
        self._expiry_told = has_expired

    def is_held(self) -> bool:
        """Whether this process may still answer as primary; checked for each answer."""
        return self._epoch is not None and self._clock() < self._valid_until

    @property
    def instance(self) -> str:
        """The name of this process."""
        return self._instance

    @property
    def address(self) -> str:
        """The address at which other processes reach this one."""
        return self._address

    async def read(self) -> LeaseRow:
        row = await self._pool.fetchrow(self._queries["lease_read"])
        assert row is not None
        return LeaseRow(row["epoch"], row["holder"], row["address"], row["live"])

    async def wait_for_next(self, epoch: int) -> LeaseRow:
        """Wait for the first primary after epoch `epoch`, and return its row."""
        while True:
            row = await self.read()
            if row.live and row.epoch > epoch:
                return row
            await asyncio.sleep(NEXT_SECONDS)

    async def take(self, *, force: bool = False, seconds: float = TAKEOVER_SECONDS) -> Fence:
        """Become primary. Raise LeaseHeld while another process is, unless `force` says that it
        cannot be alive.

        `force` is right for an embedded database, whose folder is locked by this process.
        """
        if not force:
            await self._check_free()
        deadline = self._clock() + seconds
        attempt = 0
        while self._clock() < deadline:
            try:
                async with self._lock:
                    return await self._attempt(force=force, insist=attempt > 0)
            except asyncpg.LockNotAvailableError:
                attempt += 1
        raise Problem(
            "The fence could not be taken within {seconds:.0f} s: writes that do not end hold it.",
            seconds=seconds,
        )

    async def _check_free(self) -> None:
        """Raise LeaseHeld while another process is primary. It takes no lock, since standbys call
        it again and again."""
        row = await self._pool.fetchrow(self._queries["lease_glance"])
        assert row is not None
        if row["holder"] != self._instance and row["seconds_left"] > 0:
            raise LeaseHeld(
                holder=row["holder"], address=row["address"], seconds=row["seconds_left"]
            )

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
        """End the sessions of the previous primary, and with `insist` those that blocked the last
        attempt."""
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
        """Renew the lease once; raise FencedOff if another process has become primary."""
        async with self._lock:
            await self._renew()

    async def _renew(self) -> None:
        asked, epoch = self._clock(), self._epoch
        async with asyncio.timeout(self._seconds / 2):
            found = await self._renewals.fetchval(
                self._queries["lease_renew"], epoch, self._seconds
            )
        if self._epoch != epoch:
            return  # taken anew in the meantime, by this process
        if found is None:
            self._epoch, fenced = None, FencedOff(epoch=epoch)
            if self._report_loss is not None:
                self._report_loss(str(fenced))
            raise fenced
        self._valid_until = asked + self._seconds

    async def keep(self, *, log: EventLog = quiet) -> None:
        """Renew the lease until another process has taken over; keep trying while the database is
        unavailable."""
        pause = self._seconds / RENEWALS_PER_LEASE
        while True:
            await asyncio.sleep(pause)
            pause = self._seconds / RENEWALS_PER_LEASE
            if self._epoch is None:
                continue
            try:
                await self.renew()
            except AWAY as error:
                log("lease_not_renewed", reason=repr(error), held=self.is_held())
                pause /= RENEWALS_PER_LEASE

    async def release(self) -> None:
        """Give the lease back, so that another process can take over at once; this process stops
        answering as primary."""
        epoch, self._epoch = self._epoch, None
        if epoch is not None:
            await self._renewals.execute(self._queries["lease_release"], epoch)


# Holds the lease for the length of a block: waits for it, renews it, and gives it back.

LOOK_AGAIN_SECONDS = 0.5
# A killed primary keeps its lease until it expires; a live one renews it for ever.
PATIENCE_SECONDS = SHARED_LEASE_SECONDS + 2


@asynccontextmanager
async def hold_primacy(lease: Lease, *, force: bool, log: EventLog = quiet) -> AsyncIterator[Lease]:
    """Hold the lease for the length of the block. Raise LeaseHeld if another process stays primary;
    `force` takes over at once."""
    await _take(lease, force=force, log=log)
    async with keep_renewed(lease, log=log):
        yield lease


@asynccontextmanager
async def keep_renewed(lease: Lease, *, log: EventLog = quiet) -> AsyncIterator[Lease]:
    """Renew the lease during the block whenever it is held, and give it back at the end."""
    tasks = (
        asyncio.create_task(_beat(lease, log), name="lease heartbeat"),
        asyncio.create_task(_watch_expiry(lease), name="lease expiry"),
    )
    try:
        yield lease
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await _release(lease, log)


async def _take(lease: Lease, *, force: bool, log: EventLog) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    while True:
        try:
            await lease.take(force=force)
        except LeaseHeld as held:
            if asyncio.get_running_loop().time() > deadline:
                raise
            log("lease_awaited", reason=str(held))
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        else:
            return


async def _beat(lease: Lease, log: EventLog) -> None:
    while True:
        try:
            await lease.keep(log=log)
        except FencedOff as fenced:
            # `is_held` is false, so no answer leaves as primary's until the lease is taken anew.
            log("primacy_lost", reason=str(fenced))


async def _watch_expiry(lease: Lease) -> None:
    """Report expiry from a separate task, since the heartbeat may be waiting for a database that
    does not answer."""
    while True:
        await asyncio.sleep(EXPIRY_SECONDS)
        lease.note_expiry()


async def _release(lease: Lease, log: EventLog) -> None:
    """Release the lease; one that can't be released expires by itself."""
    try:
        await lease.release()
    except FAILED as error:
        log("lease_not_released", reason=repr(error))
