"""Fixtures: one embedded PostgreSQL for the whole run, and a fresh database for each test.

A conftest that wants them says `from tests.database import *`.
"""

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from rookery.storage import migrations
from rookery.storage.embedded.server import open_server
from rookery.storage.pool import Pool, open_pool
from rookery.storage.queries import Queries
from rookery.storage.target import Target, other_database

__all__ = ["anyio_backend", "bare_database", "database", "postgres", "queries"]

Stop = Callable[[], object]
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Postgres:
    """A running server with a migrated database that others are copied from."""

    target: Target
    template: str = "prepared"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def queries() -> Queries:
    return Queries.load()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, queries: Queries) -> Iterator[Postgres]:
    with running(tmp_path_factory.mktemp("postgres")) as target:
        server = Postgres(target)
        asyncio.run(_prepare(server, queries))
        yield server


@pytest.fixture
def database(postgres: Postgres) -> Iterator[Target]:
    """A database of the test's own, with the present schema and nothing in it."""
    with _copy(postgres.target, postgres.template) as target:
        yield target


@pytest.fixture
def bare_database(postgres: Postgres) -> Iterator[Target]:
    """A database of the test's own without any schema."""
    with _copy(postgres.target, "template1") as target:
        yield target


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
    """An embedded server on a loop of its own, for tests that have other loops or none."""
    opened: Future[tuple[Target, Stop]] = Future()
    thread = threading.Thread(target=_serve, args=(data, opened), name="test-postgres")
    thread.start()
    target, stop = opened.result(timeout=60)
    try:
        yield target
    finally:
        stop()
        thread.join(30)


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
    await statement(server.target, f"CREATE DATABASE {server.template}")
    prepared = other_database(server.target, server.template)
    await migrations.migrate(prepared, queries, migrations.load())


@contextmanager
def _copy(target: Target, template: str) -> Iterator[Target]:
    name = f"test_{next(_numbers)}"
    _run(statement(target, f"CREATE DATABASE {name} TEMPLATE {template}"))
    yield other_database(target, name)
    _run(statement(target, f"DROP DATABASE {name} WITH (FORCE)"))


def _run(work: Coroutine[object, object, None]) -> None:
    asyncio.run(work)
