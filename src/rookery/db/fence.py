"""The transaction that every write goes through, so that a primary of the past can write nothing.

Theory of operation. The row of `fence` holds the present epoch. A write locks it FOR SHARE under
the condition that the epoch is still its own; a takeover (`lease`) counts the epoch up, for which
it waits until all such locks are gone. So a write either ends before the takeover and is seen by
it, or finds its epoch gone and does nothing. A stopped process holds its lock for a second at most:
then the server ends its session, because it is idle in a transaction.
"""

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from traceback import walk_tb

import asyncpg

from rookery.db.pool import BROKEN, CUT, SENT_OFF, Connection, NoConnection, Pool, Queries
from rookery.db.target import Problem, pass_test_point


class FencedOff(Problem):
    """Another process has become primary since epoch {epoch}; this one may not write any more."""


class OutcomeUnknown(Problem):
    """The connection broke during a commit ({reason}): whether it happened is not known."""


@dataclass(frozen=True, slots=True)
class Fence:
    """The right to write: the primary's, for one epoch, or anyone's (users, tokens) without one."""

    pool: Pool
    queries: Queries
    epoch: int | None = None

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Connection]:
        """One write transaction: committed when the block ends well, else rolled back."""
        async with self.transaction() as connection:
            await self._pass(connection)
            yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A write transaction whose first statement checks the fence itself."""
        async with _borrow(self.pool) as connection:
            # Stricter levels answer a takeover with a serialisation error instead of no row.
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
    """A connection of the pool; an error while it is returned is ignored, because the commit has
    succeeded by then and the pool drops the connection."""
    connection = await pool.acquire()
    try:
        yield connection
    finally:
        with contextlib.suppress(*BROKEN, asyncpg.PostgresError):
            await pool.release(connection)


async def _roll_back(transaction: "asyncpg.transaction.Transaction") -> None:
    """Rolls back; a broken connection has done so already."""
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


# Whether an error means that the database is away, as opposed to a mistake of ours.

AWAY_FOR_SURE = (
    *CUT,
    *SENT_OFF,
    asyncpg.TooManyConnectionsError,
    NoConnection,
    OutcomeUnknown,
)


def is_outage(error: BaseException) -> bool:
    """Whether an error means that the database is away; an OSError or TimeoutError counts only
    where the driver raised it."""
    if isinstance(error, AWAY_FOR_SURE):
        return True
    return isinstance(error, OSError | TimeoutError) and _came_through_driver(error)


def _came_through_driver(error: BaseException) -> bool:
    frames = walk_tb(error.__traceback__)
    return any("asyncpg" in frame.f_code.co_filename for frame, _ in frames)
