"""The database's socket through a proxy, and the whole server behind it: what is told is true,
whatever happens to a commit on its way."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.identity.passwords import Passwords
from rookery.server.identity.users import ORDINARY, Tokens, Users, mint
from tests.database import pool_on
from tests.faults.proxy import Cut, Proxy, proxied
from tests.fleet.connections import Connections, NoReply
from tests.makers import pairs
from tests.people import BORIS
from tests.rookery_process import SIMULATED, RookeryProcess
from tests.submissions import SPRT, body
from tests.twins.sites import PASSWORD
from tests.wire.worker.farm import stats, worker_info

pytestmark = pytest.mark.anyio

BATCH = 8
SMALL = {**SPRT, "batch_size": BATCH // 2}


@dataclass(slots=True)
class Bench:
    """A worker with a task on a server that reaches its database through a proxy."""

    server: RookeryProcess
    proxy: Proxy
    lines: Connections
    database: Target
    ids: dict[str, Any]

    async def call(self, name: str, **more: object) -> dict[str, Any]:
        info = worker_info(BORIS.name)
        said = {"password": PASSWORD, "worker_info": info, **self.ids, **more}
        return await self.lines.post(f"/api/{name}", json.dumps(said).encode())

    async def update(self, batches: int) -> dict[str, Any]:
        return await self.call("update_task", stats=stats(pairs(even=batches * BATCH // 2)))

    async def insisted(self, batches: int) -> dict[str, Any]:
        """Again and again until it is answered, as a worker does."""
        while True:
            try:
                return await self.update(batches)
            except NoReply:
                await asyncio.sleep(0.05)

    async def games(self) -> tuple[int, int]:
        """In the rows of the task and of its run."""
        async with pool_on(self.database) as pool:
            task = await pool.fetchval("SELECT draws FROM tasks")
            return task, await pool.fetchval("SELECT draws FROM runs")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short enough for the path of a socket."""
    with tempfile.TemporaryDirectory(prefix="held") as path:
        yield Path(path)


@asynccontextmanager
async def served(target: Target, folder: Path) -> AsyncIterator[RookeryProcess]:
    words = ("serve", f"--database-url={target.dsn}")
    make = partial(RookeryProcess, words, folder / "data", detect=False, settings=SIMULATED)
    server = await asyncio.to_thread(make)
    try:
        await asyncio.to_thread(server.until, "ready")
        yield server
    finally:
        await asyncio.to_thread(server.kill)
        assert server.process.stdout is not None
        await asyncio.to_thread(server.process.stdout.close)


@pytest.fixture
async def bench(database: Target, queries: Queries, folder: Path) -> AsyncIterator[Bench]:
    async with pool_on(database) as pool:
        hashed = await Passwords(Threads(), SystemClock(), b"key").hash(PASSWORD)
        await Users(pool, queries).add(replace(BORIS, password_hash=hashed))
        minted = mint(BORIS.name, ORDINARY, now=BORIS.created, chance=bytes)
        await Tokens(pool, queries).add(minted.token)
    async with proxied(database, folder) as (proxy, target), served(target, folder) as server:
        lines = Connections()
        lines.token = minted.secret
        ready = await asyncio.to_thread(server.until, "ready")
        lines.move(urlsplit(str(ready["address"])).port or 0)
        await lines.post("/api/v1/runs", json.dumps(body(sprt=SMALL)).encode())
        found = Bench(server, proxy, lines, database, {})
        granted = await found.call("request_task")
        found.ids = {"run_id": granted["run"]["_id"], "task_id": granted["task_id"]}
        yield found
        lines.close()


async def test_nothing_lost_was_acknowledged_while_commit_was_held_back(bench: Bench) -> None:
    assert (await bench.update(1))["task_alive"]
    bench.proxy.hold()
    first = asyncio.create_task(bench.update(2))
    await bench.proxy.holding.wait()
    repeat = asyncio.create_task(bench.update(2))
    assert (await bench.call("beat"))["task_alive"]
    done, _ = await asyncio.wait([first, repeat], timeout=0.5)
    assert not done
    await asyncio.to_thread(bench.server.kill)
    for call in (first, repeat):
        with pytest.raises(NoReply):
            await call
    assert await bench.games() == (BATCH, BATCH)


async def test_the_server_gets_over_every_cut_and_counts_each_report_once(bench: Bench) -> None:
    for number, cut in enumerate(Cut, 1):
        bench.proxy.arm(cut)
        assert (await bench.insisted(number))["task_alive"]
        assert await bench.games() == (number * BATCH, number * BATCH)
    assert (await bench.call("beat"))["task_alive"]
