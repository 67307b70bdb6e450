"""The fence: the transaction that every write goes through, so that a former primary can't write.

Theory of operation. The row of `fence` holds the current epoch. A write locks the row FOR SHARE on
the condition that the epoch is still its own. A takeover (`lease`) increments the epoch, and has to
wait until all such locks are released. So a write either ends before the takeover, which then sees
it, or finds another epoch and does nothing. A suspended process holds its lock for a second at
most: then PostgreSQL ends its session as idle in a transaction.
"""

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from traceback import walk_tb

import asyncpg

from rookery.db.pool import BROKEN, CUT, SERVER_REFUSALS, Connection, NoConnection, Pool, Queries
from rookery.db.target import Problem, pass_test_point


class FencedOff(Problem):
    """Another process has become primary since epoch {epoch}; this one may not write any more."""


class OutcomeUnknown(Problem):
    """The connection broke during a commit ({reason}): whether it happened is not known."""


@dataclass(frozen=True, slots=True)
class Fence:
    """The right to write: the primary's, bound to one epoch, or any process's without one (users,
    tokens)."""

    pool: Pool
    queries: Queries
    epoch: int | None = None

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Connection]:
        """A write transaction: committed if the block ends without an error, else rolled back."""
        async with self.transaction() as connection:
            await self._pass(connection)
            yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A write transaction whose first statement checks the fence itself."""
        async with _borrow(self.pool) as connection:
            # At stricter isolation levels a takeover causes a serialisation error instead of an
            # empty result.
            transaction = connection.transaction(isolation="read_committed")
            await transaction.start()
            try:
                yield connection
                pass_test_point("write_before_commit")
            except BaseException:
                await _roll_back(transaction)
                raise
            await _commit(transaction)

    async def _pass(self, connection: Connection) -> None:
        if self.epoch is None:
            await connection.fetchval(self.queries["fence_pass_any"])
        elif await connection.fetchval(self.queries["fence_pass"], self.epoch) is None:
            raise FencedOff(epoch=self.epoch)


@asynccontextmanager
async def _borrow(pool: Pool) -> AsyncIterator[Connection]:
    """A connection of the pool. An error while it is returned is ignored, because the commit has
    succeeded by then and the pool drops the connection."""
    connection = await pool.acquire()
    try:
        yield connection
    finally:
        with contextlib.suppress(*BROKEN, asyncpg.PostgresError):
            await pool.release(connection)


async def _roll_back(transaction: "asyncpg.transaction.Transaction") -> None:
    """Rolls back; on a broken connection the server has already done so."""
    try:
        await transaction.rollback()
    except (*BROKEN, asyncpg.PostgresError):
        return


async def _commit(transaction: "asyncpg.transaction.Transaction") -> None:
    try:
        await transaction.commit()
    except BROKEN as error:
        raise OutcomeUnknown(reason=repr(error)) from error
    pass_test_point("write_after_commit")


# Tells an unavailable database from a mistake of ours.

AWAY_FOR_SURE = (
    *CUT,
    *SERVER_REFUSALS,
    asyncpg.TooManyConnectionsError,
    NoConnection,
    OutcomeUnknown,
)


def is_outage(error: BaseException) -> bool:
    """Whether an error means that the database is unavailable; an OSError or TimeoutError counts
    only if the driver raised it."""
    if isinstance(error, AWAY_FOR_SURE):
        return True
    return isinstance(error, OSError | TimeoutError) and _came_through_driver(error)


def _came_through_driver(error: BaseException) -> bool:
    frames = walk_tb(error.__traceback__)
    return any("asyncpg" in frame.f_code.co_filename for frame, _ in frames)
