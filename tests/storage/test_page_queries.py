"""A page sends as many statements with ten times the data."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

import httpx
import pytest

from rookery.app.build import build
from rookery.app.routes import create_app
from rookery.boundary.offload import Threads
from rookery.clock import SystemClock
from rookery.db.fence import Lease, hold_primacy
from rookery.db.pool import Queries
from rookery.db.target import Target
from rookery.farm.seeding import FarmSeed, SeedSize, read_ideas
from rookery.farm.store import open_fleet_store
from rookery.people.passwords import Passwords
from rookery.people.users import User, Users
from rookery.settings import Settings
from rookery.web.steps import Process
from tests.database import pool_on
from tests.fakes import RecordedLog
from tests.people import BORIS
from tests.storage.query_count import counted_statements, noted_statements
from tests.twins.sites import PASSWORD
from tests.wire.test_login import log_in

pytestmark = pytest.mark.anyio

PAGES = (
    "/machines",
    "/machines?q=core&state=playing",
    "/machines/{machine}",
    "/log",
    "/log?q=a&action=failed_task",
    "/errors?days=30",
    "/engines",
    "/engines/Stockfish",
    "/nets?q=nn",
    "/books",
    "/server",
)
LITTLE, MUCH = SeedSize(3, 4, 2), SeedSize(30, 40, 20)
MOST = 10
NOT_ALWAYS = 4
"""Statements that a page sends now and then, such as a look at the session every other second, or
only where it has something to show."""


async def make_approver() -> User:
    hashed = await Passwords(Threads(), SystemClock(), b"key").hash(PASSWORD)
    return replace(BORIS, password_hash=hashed)


async def seed(database: Target, queries: Queries, size: SeedSize, chance: int) -> None:
    await Threads().io(read_ideas)
    farm = FarmSeed(Random(chance), SystemClock().now(), size)
    async with pool_on(database, "seed") as pool:
        lease = Lease(pool, queries, instance="seed", address="")
        async with hold_primacy(lease, force=True), open_fleet_store(pool, queries, lease) as store:
            commits = await store.take()
            for changes in await Threads().cpu(lambda: list(farm.invent_runs())):
                await commits.wait_committed(commits.put(changes))


@asynccontextmanager
async def browse(database: Target, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A browser at the server of this database."""
    settings = Settings(data=folder, database_url=database.dsn)
    process = Process(Threads(), SystemClock(), RecordedLog())
    async with build(settings, process) as site:
        process.lifecycle.started()
        transport = httpx.ASGITransport(await site.threads.io(create_app, site))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


async def count_queries(database: Target, folder: Path) -> dict[str, int]:
    """How many statements each page sends, once the server has warmed up."""
    found: dict[str, int] = {}
    async with browse(database, folder) as client:
        await log_in(client, username="boris")
        workers = (await client.get("/api/v1/workers")).json()["workers"]
        for page in PAGES:
            path = page.format(machine=workers[0]["name"])
            await client.get(path)
            with counted_statements() as sent:
                answer = await client.get(path)
            assert answer.status_code == 200, path
            found[page] = len(sent)
    return found


async def test_a_page_sends_as_many_statements_with_ten_times_the_data(
    database: Target, queries: Queries, tmp_path: Path
) -> None:
    with noted_statements():
        await seed(database, queries, LITTLE, 1)
        async with pool_on(database) as pool:
            await Users(pool, queries).add(await make_approver())
        little = await count_queries(database, tmp_path)
        await seed(database, queries, MUCH, 2)
        much = await count_queries(database, tmp_path)
    assert {page: count for page, count in much.items() if count > little[page] + NOT_ALWAYS} == {}
    assert max(much.values()) <= MOST
