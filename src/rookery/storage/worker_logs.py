"""Logs of failed tasks in PostgreSQL, and their twin in memory. Any process may write them."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime

import asyncpg

from rookery.service.worker_logs import WorkerLog
from rookery.storage.fence import Fence
from rookery.storage.fleet.json import clean
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries


class PostgresWorkerLogs:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def add(self, log: WorkerLog) -> None:
        worker = clean(log.worker)
        columns = (log.run, log.task, log.call, worker, log.at, log.blob, log.size)
        async with self._fence.write() as connection:
            await connection.execute(self._queries["worker_logs_add"], *columns)

    async def count(self, run_id: str, task_id: int) -> int:
        query = self._queries["worker_logs_count"]
        found: int = await self._pool.fetchval(query, run_id, task_id)
        return found

    async def of_run(self, run_id: str, first: int, count: int) -> tuple[WorkerLog, ...]:
        query = self._queries["worker_logs_of_run"]
        return _logs(await self._pool.fetch(query, run_id, count, first))

    async def one(self, log_id: int) -> WorkerLog | None:
        row = await self._pool.fetchrow(self._queries["worker_logs_one"], log_id)
        return None if row is None else WorkerLog(**row)

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        rows = await self._pool.fetch(self._queries["worker_logs_known"], list(keys))
        return frozenset(row["blob"] for row in rows)

    async def older(self, than: datetime, limit: int) -> tuple[WorkerLog, ...]:
        return _logs(await self._pool.fetch(self._queries["worker_logs_older"], than, limit))

    async def forget(self, keys: Collection[str]) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["worker_logs_forget"], list(keys))


def _logs(rows: Iterable[asyncpg.Record]) -> tuple[WorkerLog, ...]:
    return tuple(WorkerLog(**row) for row in rows)


class MemoryWorkerLogs:
    def __init__(self) -> None:
        self.rows: list[WorkerLog] = []

    async def add(self, log: WorkerLog) -> None:
        self.rows.append(replace(log, id=len(self.rows) + 1))

    async def count(self, run_id: str, task_id: int) -> int:
        return sum((log.run, log.task) == (run_id, task_id) for log in self.rows)

    async def of_run(self, run_id: str, first: int, count: int) -> tuple[WorkerLog, ...]:
        found = [log for log in reversed(self.rows) if log.run == run_id]
        return tuple(found[first : first + count])

    async def one(self, log_id: int) -> WorkerLog | None:
        return next((log for log in self.rows if log.id == log_id), None)

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        return frozenset(log.blob for log in self.rows if log.blob in keys)

    async def older(self, than: datetime, limit: int) -> tuple[WorkerLog, ...]:
        return tuple(log for log in self.rows if log.at < than)[:limit]

    async def forget(self, keys: Collection[str]) -> None:
        self.rows = [log for log in self.rows if log.blob not in keys]
