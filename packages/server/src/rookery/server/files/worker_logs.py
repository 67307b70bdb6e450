"""Stores the logs that workers send when a task fails, for people who look for the cause."""

import gzip
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.server.db.pool import clean
from rookery.server.db.table import columns
from rookery.server.disk import StorageAway
from rookery.server.farm.rules.answers import HeldTask
from rookery.server.farm.rules.machines import HourlyCounts
from rookery.server.files.blobs import Blobs, read_blob, write_blob
from rookery.server.files.store import ROWS_AT_A_TIME, FileRows, FileStore

KEPT = timedelta(days=50)
MOST_OF_A_TASK = 8
"""The most logs per task, to limit the disk space that a machine which keeps failing can use."""
MOST_OF_A_USER = 100
"""The most logs of a user's machines per hour, over all tasks."""


@dataclass(frozen=True, slots=True)
class StoredLog:
    """The row of a log; `call` is the endpoint that it was sent to, `size` the uncompressed
    bytes."""

    id: int
    run: str
    task: int
    call: str
    worker: str
    at: datetime
    blob: str
    size: int


class LogRows(FileRows[StoredLog]):
    """The rows of logs, by a number that the database assigns."""

    name = "worker_logs"
    kind = StoredLog

    async def add(self, log: StoredLog) -> None:
        _, *row = columns(replace(log, worker=clean(log.worker)))
        await self._write("worker_logs_add", *row)

    async def count(self, run_id: str, task_id: int) -> int:
        return int(await self._value("worker_logs_count", run_id, task_id))

    async def of_run(self, run_id: str, first: int, count: int) -> tuple[StoredLog, ...]:
        """Return a page of a run's logs, newest first."""
        return await self._many(StoredLog, "worker_logs_of_run", run_id, count, first)

    async def of_tasks(self, tasks: Collection[tuple[str, int]]) -> tuple[StoredLog, ...]:
        """Return the logs of these tasks, each by its run and number."""
        wanted = sorted(set(tasks))
        if not wanted:
            return ()
        runs, numbers = [run for run, _ in wanted], [number for _, number in wanted]
        return await self._many(StoredLog, "worker_logs_of_tasks", runs, numbers)

    async def find_expired(self, before: datetime, limit: int) -> tuple[StoredLog, ...]:
        """Return a batch of logs from before a time, oldest first."""
        return await self._many(StoredLog, "worker_logs_expired", before, limit)


class LogStore(FileStore[LogRows]):
    """Stores logs compressed, and removes them after fifty days."""

    def __init__(self, rows: LogRows, blobs: Blobs, threads: Threads, clock: Clock) -> None:
        super().__init__(rows, blobs, threads, clock)
        self._by_user = HourlyCounts()

    async def store(self, call: HeldTask, endpoint: str, text: str) -> None:
        """Store a log about the caller's task; do nothing if the task or its user has too many, or
        if the storage is away."""
        user, now = call.machine.user, self._clock.now()
        if not text or self._by_user.of(user, now) >= MOST_OF_A_USER:
            return
        if await self.rows.count(call.run, call.task) >= MOST_OF_A_TASK:
            return
        self._by_user.add(user, 1, now)
        data = text.encode("utf-8", "replace")
        try:
            blob = await self._threads.files(self._write, data)
        except StorageAway:
            return  # the failure itself is handled without its log
        worker, at = call.machine.long_name, self._clock.now()
        log = StoredLog(0, call.run, call.task, endpoint, worker, at, blob, len(data))
        await self.rows.add(log)

    async def read_text(self, log: StoredLog) -> bytes:
        """Return the bytes of a log; raise UnknownBlob when it was removed meanwhile."""
        return await self._threads.files(self._read, log.blob)

    async def _find_expired(self) -> tuple[StoredLog, ...]:
        return await self.rows.find_expired(self._clock.now() - KEPT, ROWS_AT_A_TIME)

    def _write(self, data: bytes) -> str:
        return write_blob(self.blobs, gzip.compress(data, 6))

    def _read(self, blob: str) -> bytes:
        return gzip.decompress(read_blob(self.blobs, blob))
