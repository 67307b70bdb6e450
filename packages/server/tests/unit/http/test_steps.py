"""The start, life and readiness of the serving process."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.core.errors import Complaint
from rookery.server.app.steps import STEPS
from rookery.server.boundary.domains import Domain
from rookery.server.disk import Disk, WatchedFolder
from rookery.server.http.steps import (
    Lifecycle,
    Phase,
    Process,
    Readiness,
    Step,
    StepFailed,
    StepRunner,
)
from tests.eventually import eventually
from tests.fakes import HandClock, RecordedLog

pytestmark = pytest.mark.anyio


def process() -> Process:
    return Process(Threads(), SystemClock(), RecordedLog())


def on_loop(name: str, *, stop_seconds: float = 3.0, before_drain: bool = False) -> Step:
    return Step(
        name, Domain.LOOP, "for the test", stop_seconds=stop_seconds, before_drain=before_drain
    )


def in_thread(name: str) -> Step:
    return Step(name, Domain.THREAD, "for the test")


@asynccontextmanager
async def noting(notes: list[str], name: str) -> AsyncIterator[str]:
    notes.append(f"{name} up")
    try:
        yield name
    finally:
        notes.append(f"{name} down")


def failing(with_error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise with_error

    return fail


@asynccontextmanager
async def stuck() -> AsyncIterator[None]:
    yield
    await anyio.sleep_forever()


@asynccontextmanager
async def broken() -> AsyncIterator[None]:
    yield
    raise ValueError("stuck")


async def test_steps_are_taken_in_order_and_taken_back_in_reverse() -> None:
    notes: list[str] = []
    async with StepRunner(process()) as steps:
        assert await steps.enter(on_loop("a"), noting(notes, "a")) == "a"
        assert await steps.enter(on_loop("b"), noting(notes, "b")) == "b"
    assert notes == ["a up", "b up", "b down", "a down"]


async def test_a_failed_step_takes_back_what_was_taken_and_says_so() -> None:
    notes: list[str] = []

    async def start() -> None:
        async with StepRunner(process()) as steps:
            await steps.enter(on_loop("a"), noting(notes, "a"))
            await steps.run(in_thread("database"), failing(ValueError("no disk")))

    with pytest.raises(StepFailed, match=r"^The start failed at database: no disk\.$"):
        await start()
    assert notes == ["a up", "a down"]


async def test_a_complaint_keeps_its_own_sentence() -> None:
    with pytest.raises(Complaint, match=r"^The folder is taken\.$"):
        async with StepRunner(process()) as steps:
            await steps.run(in_thread("folder"), failing(Complaint("The folder is taken.")))


async def test_a_step_runs_in_its_domain() -> None:
    def is_main() -> bool:
        return threading.current_thread() is threading.main_thread()

    async def is_on_main() -> bool:
        return is_main()

    async with StepRunner(process()) as steps:
        assert await steps.wait(on_loop("a"), is_on_main())
        assert not await steps.run(in_thread("b"), is_main)


async def test_jobs_stop_before_everything_else() -> None:
    notes: list[str] = []
    async with StepRunner(process()) as steps:
        await steps.enter(on_loop("pool"), noting(notes, "pool"))
        await steps.enter(on_loop("jobs", before_drain=True), noting(notes, "jobs"))
        await steps.stop_jobs()
        assert notes[2:] == ["jobs down"]
    assert notes[3:] == ["pool down"]


def test_the_jobs_of_a_site_come_after_all_other_steps() -> None:
    assert [step.name for step in STEPS if step.before_drain] == [STEPS[-1].name]


async def test_a_stop_that_fails_does_not_keep_the_others_open() -> None:
    notes, here = list[str](), process()
    async with StepRunner(here) as steps:
        await steps.enter(on_loop("a"), noting(notes, "a"))
        await steps.enter(on_loop("b"), broken())
    assert notes == ["a up", "a down"]
    assert here.failures == ["b"]


async def test_a_stop_that_never_ends_is_left_behind() -> None:
    notes, here = list[str](), process()
    async with StepRunner(here) as steps:
        await steps.enter(on_loop("a"), noting(notes, "a"))
        await steps.enter(on_loop("b", stop_seconds=0.01), stuck())
    assert notes == ["a up", "a down"]
    assert here.failures == ["b"]


async def test_a_thread_that_was_starting_when_the_start_was_given_up_comes_to_its_end() -> None:
    begun, go_on, notes = threading.Event(), threading.Event(), list[str]()

    def start() -> None:
        begun.set()
        go_on.wait()
        notes.append("ended")

    async def take() -> None:
        async with StepRunner(process()) as steps:
            await steps.enter(on_loop("a"), noting(notes, "a"))
            await steps.run(in_thread("database"), start)

    taking = asyncio.ensure_future(take())
    await eventually(begun.is_set)
    taking.cancel()
    await anyio.lowlevel.checkpoint()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert notes == ["a up", "ended", "a down"]


def test_a_process_starts_serves_and_stops() -> None:
    life = Lifecycle()
    phases = [life.phase]
    life.started()
    phases.append(life.phase)
    life.stop()
    phases.append(life.phase)
    assert phases == [Phase.STARTING, Phase.READY, Phase.STOPPING]


def test_a_stopping_process_never_becomes_ready_again() -> None:
    life = Lifecycle()
    life.stop()
    life.started()
    assert life.phase is Phase.STOPPING


class Database:
    """Answers until it is broken."""

    def __init__(self) -> None:
        self.asked = 0
        self.broken = False
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    async def answers(self) -> None:
        self.asked += 1
        try:
            await self.goes_on.wait()
        except asyncio.CancelledError:
            await self.goes_on.wait()
            raise
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
    return Readiness(
        life, database.answers, Disk((WatchedFolder(Path("/")),), Threads(), clock), clock
    )


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


async def test_a_database_that_hangs_holds_no_probe_and_is_asked_once(
    readiness: Readiness,
    life: Lifecycle,
    database: Database,
    clock: HandClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A question of the driver on a connection that hangs ends late, also when it is cancelled."""
    monkeypatch.setattr("rookery.server.http.steps.ANSWER_SECONDS", 0.01)
    life.started()
    database.goes_on = asyncio.Event()
    with anyio.fail_after(5):
        for _ in range(2):
            assert await readiness.reason_against() == "the database does not answer"
            clock.move(seconds=1)
    assert database.asked == 1
    database.goes_on.set()
    assert await readiness.reason_against() == ""


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
