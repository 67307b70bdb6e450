"""Being primary for the length of a block: waits for the lease, renews it, gives it back."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from rookery.storage.fence import FencedOff
from rookery.storage.lease import LEASE_SECONDS, Lease, LeaseHeld
from rookery.storage.log import Log, quiet

LOOK_AGAIN_SECONDS = 0.5
# A primary that was killed holds its lease until it expires; one that lives renews it for ever.
PATIENCE_SECONDS = LEASE_SECONDS + 2


@asynccontextmanager
async def primacy(lease: Lease, *, force: bool, log: Log = quiet) -> AsyncIterator[Lease]:
    """Raises LeaseHeld when another process stays primary; `force` takes over at once."""
    await _take(lease, force=force, log=log)
    heartbeat = asyncio.create_task(_beat(lease, log), name="lease heartbeat")
    try:
        yield lease
    finally:
        heartbeat.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await heartbeat
        await _release(lease, log)


async def _take(lease: Lease, *, force: bool, log: Log) -> None:
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


async def _beat(lease: Lease, log: Log) -> None:
    while True:
        try:
            await lease.keep(log=log)
        except FencedOff as fenced:
            # `is_held` says no, and every answer with it, until the lease is taken anew.
            log("primacy_lost", reason=str(fenced))


async def _release(lease: Lease, log: Log) -> None:
    """A lease that can't be given back expires by itself."""
    try:
        await lease.release()
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        log("lease_not_released", reason=repr(error))
