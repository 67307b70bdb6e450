"""A pool whose reads notice that the database does not answer, and then fail at once.

Theory of operation. A query to a server that hangs (suspended, frozen storage, a cut line) ends by
no answer, and cancelling it waits for the same server. So the pool watches its reads. When one has
waited for SUSPECT_SECONDS, a new connection asks whether the database answers. If it does, the
query is merely slow, and goes on. If it doesn't, and no other read was answered meanwhile, the
database counts as silent: the connections of all waiting reads are cut, and further reads fail at
once, until the database answers again. Transactions are not watched, since cutting one that is
being committed would leave its outcome unknown.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from rookery.server.db.connecting import FAILED, Connector
from rookery.server.db.target import Target

Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"
DriverPool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"

SUSPECT_SECONDS = 0.7
ASK_SECONDS = 0.9
ASKED_TIMES = 2
PAUSE_SECONDS = 0.25


class DatabaseSilent(ConnectionError):
    """The database does not answer."""

    def __init__(self) -> None:
        super().__init__("The database does not answer.")


@dataclass(slots=True, eq=False)
class _Read:
    """A read that waits, first for a connection and then on it."""

    began: float
    limit: asyncio.Timeout
    connection: "Connection | None" = None

    def cut(self, now: float) -> None:
        if self.connection is None:
            self.limit.reschedule(now)
            return
        with contextlib.suppress(asyncpg.InterfaceError):  # it is being returned
            self.connection.terminate()


class SilenceWatch:
    """Watches the reads of one pool. Used on the event loop only."""

    def __init__(self, target: Target, log: Callable[..., object]) -> None:
        self._connect = Connector(target)
        self._log = log
        self._reads: dict[_Read, None] = {}
        self._answered = 0
        self._watching: asyncio.Task[None] | None = None
        self.is_silent = False

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[_Read]:
        """Watch a read for the length of the block; raise DatabaseSilent."""
        if self.is_silent:
            raise DatabaseSilent
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch(), name="silence watch")
        try:
            async with asyncio.timeout(None) as limit:
                read = _Read(asyncio.get_running_loop().time(), limit)
                self._reads[read] = None
                try:
                    yield read
                finally:
                    del self._reads[read]
        except TimeoutError:
            if limit.expired():
                raise DatabaseSilent from None
            raise
        self._answered += 1

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while self._reads:
            oldest = next(iter(self._reads))
            left = oldest.began + SUSPECT_SECONDS - loop.time()
            if left > 0:
                await asyncio.sleep(left)
            elif await self._is_answering():
                await asyncio.sleep(SUSPECT_SECONDS)
            else:
                await self._endure_silence()

    async def _is_answering(self) -> bool:
        answered = self._answered
        for _ in range(ASKED_TIMES):
            if await self._ask() or self._answered != answered:
                return True
        return False

    async def _ask(self) -> bool:
        """Whether a new connection is answered, be it by a refusal."""
        try:
            connection = await self._connect(timeout=ASK_SECONDS)
        except asyncpg.PostgresError:
            return True
        except FAILED:
            return False
        connection.terminate()
        return True

    async def _endure_silence(self) -> None:
        self.is_silent = True
        self._log("database_silent", reads=len(self._reads))
        now = asyncio.get_running_loop().time()
        for read in tuple(self._reads):
            read.cut(now)
        try:
            while not await self._ask():  # noqa: ASYNC110 - nobody else tells
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            self.is_silent = False
        self._log("database_answers_again")


class WatchedPool:
    """Connections to the database; see the theory of operation above."""

    def __init__(self, pool: DriverPool, watch: SilenceWatch) -> None:
        self._pool = pool
        self._watch = watch

    async def fetch(
        self, query: str, *values: Any, timeout: float | None = None
    ) -> list[asyncpg.Record]:
        """Run a query; return its rows. Raise DatabaseSilent."""
        async with self._reading() as connection:
            return await connection.fetch(query, *values, timeout=timeout)

    async def fetchrow(
        self, query: str, *values: Any, timeout: float | None = None
    ) -> asyncpg.Record | None:
        """Run a query; return its first row. Raise DatabaseSilent."""
        async with self._reading() as connection:
            return await connection.fetchrow(query, *values, timeout=timeout)

    async def fetchval(self, query: str, *values: Any, timeout: float | None = None) -> Any:
        """Run a query; return the first column of its first row. Raise DatabaseSilent."""
        async with self._reading() as connection:
            return await connection.fetchval(query, *values, timeout=timeout)

    async def execute(self, query: str, *values: Any) -> str:
        """Run a statement that may be cut off, such as a notice. Raise DatabaseSilent."""
        async with self._reading() as connection:
            return await connection.execute(query, *values)

    def acquire(self) -> "asyncpg.pool.PoolAcquireContext[asyncpg.Record]":
        """Return a connection for a transaction, which is not watched."""
        return self._pool.acquire()

    async def release(self, connection: Connection) -> None:
        await self._pool.release(connection)

    def check(self) -> None:
        """Raise DatabaseSilent if the database is known not to answer."""
        if self._watch.is_silent:
            raise DatabaseSilent

    def get_size(self) -> int:
        return self._pool.get_size()

    def get_idle_size(self) -> int:
        return self._pool.get_idle_size()

    def get_max_size(self) -> int:
        return self._pool.get_max_size()

    async def close(self) -> None:
        """Close all connections, after waiting for those in use."""
        await self._watch.close()
        await self._pool.close()

    def terminate(self) -> None:
        self._pool.terminate()

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[Connection]:
        async with self._watch.reading() as read, self._pool.acquire() as connection:
            read.connection = connection
            yield connection
