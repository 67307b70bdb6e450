"""A primary that is stopped in mid-transaction and wakes up after another has taken over."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rookery.server.db.lease import Lease
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from tests.database import pool_on
from tests.faults.processes import Spoken

pytestmark = pytest.mark.anyio
SCRIPT = Path(__file__).with_name("stopped_writer.py")


@pytest.fixture
def writer(database: Target) -> Iterator[Spoken]:
    folder, name = database.connect_args["host"], database.connect_args["database"]
    with Spoken([sys.executable, str(SCRIPT), folder, name]) as process:
        yield process


def wait_until_stopped(writer: Spoken) -> None:
    writer.until("stopping")
    os.waitid(os.P_PID, writer.process.pid, os.WSTOPPED)


async def test_a_woken_writer_commits_nothing_and_writes_nothing_more(
    writer: Spoken, database: Target, queries: Queries
) -> None:
    wait_until_stopped(writer)
    async with pool_on(database, "new") as pool:
        lease = Lease(pool, queries, instance="new", address="", seconds=60)
        await lease.take(force=True, seconds=60)
        os.kill(writer.process.pid, signal.SIGCONT)
        assert writer.until("woken")["outcome"] != "committed"
        assert writer.until("again")["outcome"] == "FencedOff"
        assert await pool.fetchval("SELECT count(*) FROM secrets") == 0
        assert lease.is_held()
