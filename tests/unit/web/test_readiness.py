"""When a process is ready."""

from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from rookery.boundary.offload import Threads
from rookery.files.disk import Disk
from rookery.web.steps import Lifecycle, Readiness
from tests.fakes import HandClock

pytestmark = pytest.mark.anyio


class Database:
    """Answers until it is broken."""

    def __init__(self) -> None:
        self.asked = 0
        self.broken = False

    async def answers(self) -> None:
        self.asked += 1
        await anyio.lowlevel.checkpoint()
        if self.broken:
            raise ConnectionError("postgres://user:secret@host")


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
def life() -> Lifecycle:
    return Lifecycle()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def readiness(life: Lifecycle, database: Database, clock: HandClock) -> Readiness:
    return Readiness(life, database.answers, Disk(Path("/"), Threads(), clock), clock)


async def test_not_before_the_start_is_over(readiness: Readiness, life: Lifecycle) -> None:
    assert await readiness.reason_against() == "the server is starting"
    life.started()
    assert await readiness.reason_against() == ""


async def test_not_while_stopping(readiness: Readiness, life: Lifecycle) -> None:
    life.stop()
    assert await readiness.reason_against() == "the server is stopping"


async def test_not_without_a_database_and_no_secret_is_told(
    readiness: Readiness, life: Lifecycle, database: Database
) -> None:
    life.started()
    database.broken = True
    assert await readiness.reason_against() == "the database can't be used: ConnectionError"


async def test_many_probes_are_one_question(
    readiness: Readiness, life: Lifecycle, database: Database, clock: HandClock
) -> None:
    life.started()
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(readiness.reason_against)
    assert database.asked == 1
    clock.move(seconds=1)
    await readiness.reason_against()
    assert database.asked == 2
