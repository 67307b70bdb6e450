"""Rows of workers' logs, in PostgreSQL and in their twin."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from rookery.core.boundary.offload import Threads
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.farm.rules.answers import HeldTask
from rookery.server.files.blobs import FolderBlobs, UnknownBlob
from rookery.server.files.worker_logs import LogRows, LogStore
from tests.database import pool_on
from tests.fakes import HandClock
from tests.makers import make_machine, run_id
from tests.twins.files import MemoryLogs

pytestmark = pytest.mark.anyio

CALL = HeldTask(run_id("a"), 3, make_machine())


@pytest.fixture(params=["memory", "postgres"])
async def rows(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[LogRows]:
    if request.param == "memory":
        yield MemoryLogs()
        return
    async with pool_on(database) as pool:
        yield LogRows(pool, queries)


async def test_a_log_is_kept_and_let_go(rows: LogRows, tmp_path: Path) -> None:
    clock = HandClock()
    store = LogStore(rows, FolderBlobs(tmp_path, clock), Threads(), clock)
    await store.store(CALL, "failed_task", "first")
    await store.store(CALL, "failed_task", "second \udcff")
    await store.store(CALL, "failed_task", "")
    new, old = await rows.of_run(CALL.run, 0, 10)
    assert await rows.get(old.id) == old
    assert [await store.read_text(each) for each in (old, new)] == [b"first", b"second ?"]
    clock.move(seconds=timedelta(days=49).total_seconds())
    await store.sweep()
    assert await rows.count(CALL.run, CALL.task) == 2
    clock.move(seconds=timedelta(days=2).total_seconds())
    await store.sweep()
    assert await rows.of_run(CALL.run, 0, 10) == ()
    with pytest.raises(UnknownBlob):
        await store.read_text(old)
