"""What workers wrote down before a task failed, kept for those who have to find out why."""

import gzip
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

import asyncpg

from rookery.boundary.domains import Domain, runs
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.db.fence import Fence
from rookery.db.pool import Pool, Queries, clean
from rookery.files.store import Blobs, remove, swept
from rookery.rules.answers import HeldTask
from rookery.rules.machines import HourlyCounts

AT_A_TIME = 200
KEPT = timedelta(days=50)
MOST_OF_A_TASK = 8
"""A machine that fails for ever does not fill the disk."""
MOST_OF_A_USER = 100
"""Within an hour, of all tasks."""


@dataclass(frozen=True, slots=True)
class WorkerLog:
    """One text; `call` is the endpoint it came with, `size` counts its bytes."""

    id: int
    run: str
    task: int
    call: str
    worker: str
    at: datetime
    blob: str
    size: int


class WorkerLogs(Protocol):
    """The rows. Any process may write them."""

    async def add(self, log: WorkerLog) -> None:
        """The number is given by the rows."""
        ...

    async def count(self, run_id: str, task_id: int) -> int: ...

    async def of_run(self, run_id: str, first: int, count: int) -> tuple[WorkerLog, ...]:
        """A page of them, the newest first."""
        ...

    async def one(self, log_id: int) -> WorkerLog | None: ...

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        """Those of the keys that a row names."""
        ...

    async def older(self, than: datetime, limit: int) -> tuple[WorkerLog, ...]: ...

    async def forget(self, keys: Collection[str]) -> None:
        """The rows of these blobs are no longer needed."""
        ...


class LogStore:
    """Takes logs in, gives them out, and lets them go when their time is up."""

    def __init__(self, rows: WorkerLogs, blobs: Blobs, threads: Threads, clock: Clock) -> None:
        self.rows = rows
        self._blobs = blobs
        self._threads = threads
        self._clock = clock
        self._kept = HourlyCounts()

    async def keep(self, call: HeldTask, endpoint: str, text: str) -> None:
        """A text about a task that is the caller's own."""
        user, now = call.machine.user, self._clock.now()
        if not text or self._kept.of(user, now) >= MOST_OF_A_USER:
            return
        if await self.rows.count(call.run, call.task) >= MOST_OF_A_TASK:
            return
        self._kept.add(user, 1, now)
        data = text.encode("utf-8", "replace")
        blob = await self._threads.io(self._written, data)
        await self.rows.add(
            WorkerLog(
                0,
                call.run,
                call.task,
                endpoint,
                call.machine.long_name,
                self._clock.now(),
                blob,
                len(data),
            )
        )

    async def text(self, log: WorkerLog) -> bytes:
        """Raises UnknownBlob when its time was up."""
        return await self._threads.io(self._read, log.blob)

    @runs(Domain.THREAD, "files are listed and removed in threads, rows are awaited")
    async def clean_up(self) -> None:
        while old := await self.rows.older(self._clock.now() - KEPT, AT_A_TIME):
            keys = [log.blob for log in old]
            await self.rows.forget(keys)
            await self._threads.io(remove, self._blobs, keys)
        await swept(self._blobs, self.rows, self._threads)

    def _written(self, data: bytes) -> str:
        return self._blobs.write(gzip.compress(data, 6))

    def _read(self, blob: str) -> bytes:
        return gzip.decompress(self._blobs.read(blob))


# Logs of failed tasks in PostgreSQL, and their twin in memory. Any process may write them.


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
