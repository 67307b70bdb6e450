"""Fixtures: one embedded PostgreSQL for the whole run, and a fresh database for each test.

Copying a database takes as long as emptying twenty, so a test gets the database of the previous one
with its rows restored, if that test did not change the schema; see tests/rows.py. A permanent
session does this, because a new one would have to load the catalogue of every table first.

A conftest that needs them does `from tests.database import *`.
"""

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from rookery.server.db import migrations
from rookery.server.db.embedded.server import open_server
from rookery.server.db.pool import Pool, Queries, open_pool
from rookery.server.db.target import Target, other_database
from tests.rows import KeptDatabase, keep, put_back

__all__ = ["anyio_backend", "bare_database", "database", "postgres", "queries"]

Stop = Callable[[], object]
_numbers = itertools.count(1)


@dataclass(slots=True)
class Postgres:
    """A running server with a migrated database that others are copied from."""

    target: Target
    runner: asyncio.Runner
    """The runner of the loop on which the session of the kept database lives."""
    template: str = "prepared"
    spare: KeptDatabase | None = None


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def queries() -> Queries:
    return Queries.load()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, queries: Queries) -> Iterator[Postgres]:
    with running(tmp_path_factory.mktemp("postgres")) as target, asyncio.Runner() as runner:
        server = Postgres(target, runner)
        runner.run(_prepare(server, queries))
        yield server
        if server.spare is not None:
            runner.run(server.spare.session.close())


@pytest.fixture
def database(postgres: Postgres) -> Iterator[Target]:
    """A database of the test's own, with the present schema and no rows."""
    kept = postgres.spare or postgres.runner.run(_copied(postgres))
    postgres.spare = None
    yield kept.target
    if postgres.runner.run(put_back(kept)):
        postgres.spare = kept
    else:
        postgres.runner.run(_drop_kept(postgres.target, kept))


@pytest.fixture
def bare_database(postgres: Postgres) -> Iterator[Target]:
    """A database of the test's own without any schema."""
    target = postgres.runner.run(_copy(postgres.target, "template1"))
    yield target
    postgres.runner.run(_drop(postgres.target, target))


@asynccontextmanager
async def pool_on(target: Target, instance: str = "test") -> AsyncIterator[Pool]:
    async with open_pool(target, instance=instance, size=4) as pool:
        yield pool


async def statement(target: Target, sql: str) -> None:
    connection = await asyncpg.connect(**target.connect_args)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


@contextmanager
def running(data: Path) -> Iterator[Target]:
    """An embedded server on a separate loop, for tests that have other loops or none."""
    opened: Future[tuple[Target, Stop]] = Future()
    thread = threading.Thread(target=_serve, args=(data, opened), name="test-postgres")
    thread.start()
    target, stop = opened.result(timeout=60)
    try:
        yield target
    finally:
        stop()
        thread.join()


def _serve(data: Path, opened: "Future[tuple[Target, Stop]]") -> None:
    async def serve() -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        async with open_server(data) as server:
            opened.set_result((server.target, lambda: loop.call_soon_threadsafe(ended.set)))
            await ended.wait()

    try:
        asyncio.run(serve())
    except Exception as error:
        opened.set_exception(error)
        raise


async def _prepare(server: Postgres, queries: Queries) -> None:
    # No power failure is expected during tests, and killed processes lose nothing without fsync.
    await statement(server.target, "ALTER SYSTEM SET fsync = off")
    await statement(server.target, "SELECT pg_reload_conf()")
    await statement(server.target, f"CREATE DATABASE {server.template}")
    prepared = other_database(server.target, server.template)
    await migrations.migrate(prepared, queries, migrations.load_migrations())


async def _copied(server: Postgres) -> KeptDatabase:
    return await keep(await _copy(server.target, server.template))


async def _drop_kept(server: Target, kept: KeptDatabase) -> None:
    await kept.session.close()
    await _drop(server, kept.target)


async def _copy(server: Target, template: str) -> Target:
    name = f"test_{next(_numbers)}"
    await statement(server, f"CREATE DATABASE {name} TEMPLATE {template}")
    return other_database(server, name)


async def _drop(server: Target, target: Target) -> None:
    name = target.connect_args["database"]
    await statement(server, f"DROP DATABASE {name} WITH (FORCE)")
