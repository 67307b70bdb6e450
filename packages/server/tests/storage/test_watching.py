"""Reads from a database that hangs: they end soon, and only they."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from rookery.server.db.fence import Fence, is_outage
from rookery.server.db.pool import AWAY, Pool, Queries, open_pool
from rookery.server.db.target import Target
from rookery.server.db.watching import SUSPECT_SECONDS, DatabaseSilent
from tests.database import pool_on, running
from tests.eventually import eventually
from tests.process_table import processes_of

pytestmark = pytest.mark.anyio

SOON_SECONDS = 15.0
"""Before the driver's own time limits and its waiting for a cancellation have passed."""


class Server:
    """An embedded server of the test's own that can be suspended."""

    def __init__(self, data: Path, target: Target) -> None:
        self.data = data
        self.target = target

    @asynccontextmanager
    async def suspended(self) -> AsyncIterator[None]:
        own = await asyncio.to_thread(processes_of, self.data, ["cwd"])
        tell(own, signal.SIGSTOP)
        try:
            yield
        finally:
            tell(own, signal.SIGCONT)


def tell(pids: Iterable[int], number: signal.Signals) -> None:
    """Sends a signal to those that are still there: a session that was closed may end just now."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("watching") / "data"
    with running(data) as target:
        yield Server(data / "database" / "postgres", target)


async def failure_of(pool: Pool) -> BaseException | None:
    try:
        await pool.fetchval("SELECT 1")
    except AWAY as error:
        return error
    return None


async def test_reads_fail_soon_while_the_server_hangs_and_then_at_once(server: Server) -> None:
    async with pool_on(server.target) as pool:
        assert await failure_of(pool) is None
        async with server.suspended():
            async with asyncio.timeout(SOON_SECONDS):
                # More than there are connections, so that some wait for one.
                first = await asyncio.gather(*(failure_of(pool) for _ in range(10)))
            at_once = await failure_of(pool)
        assert all(error is not None and is_outage(error) for error in first)
        assert isinstance(at_once, DatabaseSilent)


async def test_reads_go_on_once_the_server_answers_again(server: Server) -> None:
    async with pool_on(server.target) as pool:
        async with server.suspended():
            assert await failure_of(pool) is not None
        async with asyncio.timeout(60):
            while await failure_of(pool) is not None:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.01)
        assert pool.get_idle_size() == pool.get_size()


async def test_a_caller_that_gives_up_is_not_held_up_by_the_server(server: Server) -> None:
    async with pool_on(server.target) as pool:
        await pool.fetchval("SELECT 1")
        async with server.suspended():
            async with asyncio.timeout(SOON_SECONDS):
                reading = asyncio.create_task(pool.fetchval("SELECT 1"))
                await eventually(lambda: pool.get_idle_size() < pool.get_size())
                reading.cancel()
                await asyncio.wait([reading])


async def test_a_slow_query_of_a_server_that_answers_goes_on(database: Target) -> None:
    said: list[str] = []

    def log(event: str, /, **_fields: object) -> None:
        said.append(event)

    async with open_pool(database, instance="test", log=log) as pool:
        assert await pool.fetchval("SELECT 7 FROM pg_sleep($1)", 3 * SUSPECT_SECONDS) == 7
    assert said == []


async def test_writes_of_any_process_are_refused_at_once_while_the_server_hangs(
    server: Server, queries: Queries
) -> None:
    async with pool_on(server.target) as pool, server.suspended():
        await failure_of(pool)
        with pytest.raises(DatabaseSilent):
            async with Fence(pool, queries).write():
                pass


async def test_what_happened_is_logged(server: Server) -> None:
    said: list[str] = []

    def log(event: str, /, **_fields: object) -> None:
        said.append(event)

    async with open_pool(server.target, instance="test", log=log) as pool:
        async with server.suspended():
            await failure_of(pool)
        await eventually(lambda: said == ["database_silent", "database_answers_again"])
