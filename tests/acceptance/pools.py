"""The two pools of the post-mortem behind one small face: asyncpg's own and SQLAlchemy's."""

import asyncio
from typing import Protocol
from uuid import uuid4

import asyncpg
import sqlalchemy.dialects.postgresql.asyncpg  # noqa: F401 - else it is imported on the loop
from sqlalchemy import QueuePool, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

SIZE = 10


class Pool(Protocol):
    """A pool of connections that belong to the loop on which it was opened."""

    async def value(self, sql: str) -> object:
        """The single value of a query, over a connection of the pool."""

    def held(self) -> int:
        """How many connections somebody has taken out."""

    async def close(self) -> None:
        """Give the connections up."""


class AsyncpgPool:
    """asyncpg's own pool."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        self._pool = pool

    async def value(self, sql: str) -> object:
        async with self._pool.acquire() as connection:
            return await connection.fetchval(sql)

    def held(self) -> int:
        return self._pool.get_size() - self._pool.get_idle_size()

    async def close(self) -> None:
        self._pool.terminate()


class SqlalchemyPool:
    """SQLAlchemy's async engine over asyncpg, with its default kind of pool."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def value(self, sql: str) -> object:
        async with self._engine.connect() as connection:
            return await connection.scalar(text(sql))

    def held(self) -> int:
        pool = self._engine.pool
        assert isinstance(pool, QueuePool)
        return pool.checkedout()

    async def close(self) -> None:
        await self._engine.dispose()


async def open_pool(kind: str, dsn: str) -> Pool:
    """A warm pool of ten connections, bound to the running loop."""
    # A request to cancel that overtakes its query is lost, a flaw of the database's protocol:
    # the statement time-out is what ends such a query.
    settings = {"statement_timeout": "2s", "application_name": f"post-mortem {uuid4()}"}
    if kind == "asyncpg":
        return AsyncpgPool(
            await asyncpg.create_pool(dsn, min_size=SIZE, max_size=SIZE, server_settings=settings)
        )
    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=lambda: asyncpg.connect(dsn, server_settings=settings),
        pool_size=SIZE,
        max_overflow=0,
        pool_timeout=60,
    )
    pool = SqlalchemyPool(engine)
    await asyncio.gather(*(pool.value("select pg_sleep(0.01)") for _ in range(SIZE)))
    return pool
