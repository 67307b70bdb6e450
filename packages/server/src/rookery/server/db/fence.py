"""The fence: the transaction that every write goes through, so that a former primary can't write.

Theory of operation. The row of `fence` holds the current epoch. A write locks the row FOR SHARE on
the condition that the epoch is still its own. A takeover (`lease`) increments the epoch, and has to
wait until all such locks are released. So a write either ends before the takeover, which then sees
it, or finds another epoch and does nothing. A suspended process holds its lock for a second at
most: then PostgreSQL ends its session as idle in a transaction.

The rounds of the group commit are single statements (`FencedStatements`): such a statement is its
own transaction, so nothing that happens to this process can leave it open. It takes the lock
itself, and if it had to wait for a takeover, PostgreSQL looks at the row again: the epoch is then
another one, and the statement changes nothing.
"""

import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from traceback import walk_tb

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

from rookery.server.db.pool import (
    BROKEN,
    CUT,
    SERVER_REFUSALS,
    Connection,
    NoConnection,
    Pool,
    Queries,
)
from rookery.server.db.target import Problem, pass_test_point
from rookery.server.db.watching import DatabaseSilent


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
        """Yield a write transaction: committed if the block ends without an error, else rolled
        back."""
        if self.epoch is None:
            self.pool.check()
        async with _borrow(self.pool) as connection:
            # At stricter isolation levels a takeover causes a serialisation error instead of an
            # empty result.
            transaction = connection.transaction(isolation="read_committed")
            with _cut_on_error(connection):
                await transaction.start()
            try:
                await self._pass(connection)
                yield connection
                pass_test_point("write_before_commit")
            except BaseException:
                await _roll_back(connection, transaction)
                raise
            await _commit(connection, transaction)

    async def _pass(self, connection: Connection) -> None:
        if self.epoch is None:
            await connection.fetchval(self.queries["fence_pass_any"])
        elif await connection.fetchval(self.queries["fence_pass"], self.epoch) is None:
            raise FencedOff(epoch=self.epoch)


@asynccontextmanager
async def _borrow(pool: Pool) -> AsyncIterator[Connection]:
    """Yield a connection of the pool. An error while it is returned is ignored, because the commit
    has succeeded by then and the pool drops the connection."""
    connection = await pool.acquire()
    try:
        yield connection
    finally:
        await _give_back(pool, connection)


async def _give_back(pool: Pool, connection: Connection) -> None:
    with contextlib.suppress(*BROKEN, asyncpg.PostgresError):
        await pool.release(connection)


@contextlib.contextmanager
def _cut_on_error(connection: Connection) -> Iterator[None]:
    """Cut a connection whose transaction could not be begun or ended, be it that the caller was
    cancelled: the pool must not get it back in the middle of a transaction."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(asyncpg.InterfaceError):  # the pool has taken it back
            connection.terminate()
        raise


async def _roll_back(
    connection: Connection, transaction: "asyncpg.transaction.Transaction"
) -> None:
    """Roll back; on a broken connection the server has already done so."""
    with contextlib.suppress(*BROKEN, asyncpg.PostgresError), _cut_on_error(connection):
        await transaction.rollback()


async def _commit(connection: Connection, transaction: "asyncpg.transaction.Transaction") -> None:
    try:
        with _cut_on_error(connection):
            await transaction.commit()
    except BROKEN as error:
        raise OutcomeUnknown(reason=repr(error)) from error
    pass_test_point("write_after_commit")


MOST_PREPARED = 64
"""The most statements that are kept prepared; rounds with rare rows have many forms."""
TRUSTED_SECONDS = 60.0
"""After so long without a write, the connection may have been dropped silently on its way."""


class FencedStatements:
    """Writes of one statement each, prepared once, on a connection of the pool that is kept for
    them. The statement must give a row exactly if the fence let it pass. Used by one task at a
    time."""

    def __init__(self, fence: Fence, *, trusted_seconds: float = TRUSTED_SECONDS) -> None:
        self._fence = fence
        self._trusted_seconds = trusted_seconds
        self._connection: Connection | None = None
        self._used = 0.0
        self._prepared: dict[str, PreparedStatement[asyncpg.Record]] = {}

    async def write(self, sql: str, *values: object) -> None:
        """Run a statement, whose first parameter is the epoch, and commit it. Raise OutcomeUnknown
        if the connection breaks before the answer."""
        connection = await self._connected()
        prepared = self._prepared.get(sql) or await self._prepare(connection, sql)
        pass_test_point("write_before_commit")
        try:
            passed = await prepared.fetchval(self._fence.epoch, *values)
        except BROKEN as error:
            raise OutcomeUnknown(reason=repr(error)) from error
        pass_test_point("write_after_commit")
        self._used = time.monotonic()
        if passed is None:
            raise FencedOff(epoch=self._fence.epoch)

    async def close(self) -> None:
        """Give the connection back to the pool."""
        connection, self._connection = self._connection, None
        self._prepared.clear()
        if connection is not None:
            await _give_back(self._fence.pool, connection)

    async def _connected(self) -> Connection:
        """Return the kept connection; another one if it ended while nothing was written, or may
        have."""
        kept = self._connection
        if kept is None or not self._is_alive(kept):
            await self.close()
            self._connection = kept = await self._fence.pool.acquire()
        return kept

    def _is_alive(self, kept: Connection) -> bool:
        try:
            if time.monotonic() - self._used > self._trusted_seconds:
                kept.terminate()
            return not kept.is_closed()
        except asyncpg.InterfaceError:
            return False  # it ended, and the pool has taken it back

    async def _prepare(
        self, connection: Connection, sql: str
    ) -> "PreparedStatement[asyncpg.Record]":
        if len(self._prepared) == MOST_PREPARED:
            self._prepared.clear()
        prepared = self._prepared[sql] = await connection.prepare(sql)
        return prepared


# Tells an unavailable database from a mistake of ours.

AWAY_FOR_SURE = (
    *CUT,
    *SERVER_REFUSALS,
    asyncpg.TooManyConnectionsError,
    DatabaseSilent,
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
