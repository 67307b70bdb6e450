"""Which engine a file was given for, in PostgreSQL and in memory; each change is told to all."""

from collections.abc import Mapping

from rookery.storage.fence import Fence
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries


class PostgresHoldings:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def everything(self) -> Mapping[str, str]:
        rows = await self._pool.fetch(self._queries["holdings_all"])
        return {row["file"]: row["engine"] for row in rows}

    async def add(self, file: str, engine: str) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["holdings_add"], file, engine)
            await connection.execute(self._queries["engines_changed"], engine)

    async def remove(self, file: str) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["holdings_remove"], file)
            await connection.execute(self._queries["engines_changed"], "")


class MemoryHoldings:
    def __init__(self, engines: dict[str, str] | None = None) -> None:
        """With the log's own copy, where lines about hidden files are to be left out of it."""
        self._engines = {} if engines is None else engines

    async def everything(self) -> Mapping[str, str]:
        return dict(self._engines)

    async def add(self, file: str, engine: str) -> None:
        self._engines.setdefault(file, engine)

    async def remove(self, file: str) -> None:
        self._engines.pop(file, None)
