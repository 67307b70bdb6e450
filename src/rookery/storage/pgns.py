"""Uploaded games in PostgreSQL, and their twin in memory. Any process may write them."""

from collections.abc import Collection, Iterable
from datetime import datetime

import asyncpg

from rookery.service.pgns import Pgn
from rookery.storage.fence import Fence
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries


class PostgresPgns:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def add(self, pgn: Pgn) -> None:
        async with self._fence.write() as connection:
            await connection.execute(
                self._queries["pgns_add"], pgn.run, pgn.task, pgn.blob, pgn.size, pgn.at
            )

    async def of_task(self, run_id: str, task_id: int) -> tuple[Pgn, ...]:
        return _pgns(await self._pool.fetch(self._queries["pgns_of_task"], run_id, task_id))

    async def of_run(self, run_id: str) -> tuple[Pgn, ...]:
        return _pgns(await self._pool.fetch(self._queries["pgns_of_run"], run_id))

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        rows = await self._pool.fetch(self._queries["pgns_known"], list(keys))
        return frozenset(row["blob"] for row in rows)

    async def expired(self, now: datetime, limit: int) -> tuple[Pgn, ...]:
        return _pgns(await self._pool.fetch(self._queries["pgns_expired"], now, limit))

    async def forget(self, keys: Collection[str]) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["pgns_forget"], list(keys))


def _pgns(rows: Iterable[asyncpg.Record]) -> tuple[Pgn, ...]:
    return tuple(Pgn(**row) for row in rows)


class MemoryPgns:
    """Keeps everything for ever: how long a run's games are kept, its row says."""

    def __init__(self) -> None:
        self.rows: list[Pgn] = []

    async def add(self, pgn: Pgn) -> None:
        self.rows.append(pgn)

    async def of_task(self, run_id: str, task_id: int) -> tuple[Pgn, ...]:
        return tuple(pgn for pgn in self.rows if (pgn.run, pgn.task) == (run_id, task_id))

    async def of_run(self, run_id: str) -> tuple[Pgn, ...]:
        found = [pgn for pgn in self.rows if pgn.run == run_id]
        return tuple(sorted(found, key=lambda pgn: pgn.task))

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        return frozenset(pgn.blob for pgn in self.rows if pgn.blob in keys)

    async def expired(self, now: datetime, limit: int) -> tuple[Pgn, ...]:
        del now, limit
        return ()

    async def forget(self, keys: Collection[str]) -> None:
        self.rows = [pgn for pgn in self.rows if pgn.blob not in keys]
