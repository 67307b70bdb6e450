"""The lifespan's steps: up in order, down in reverse, each where it says."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from rookery.boundary.domains import Declaration, Domain
from rookery.boundary.offload import Threads
from rookery.errors import Complaint
from rookery.web.steps import NotOpen, Opened, Stairs, Step, StepFailed, StepsOutOfOrder, opening
from tests.eventually import eventually
from tests.unit.web.fakes import RecordedLog

pytestmark = pytest.mark.anyio

LOOP = Declaration(Domain.LOOP, "for the test")
THREAD = Declaration(Domain.THREAD, "for the test")


def stairs(*steps: Step) -> Stairs:
    return Stairs(steps, Threads(), RecordedLog())


def noting(notes: list[str], name: str, **more: bool) -> Step:
    async def start() -> None:
        notes.append(f"{name} up")

    async def stop() -> None:
        notes.append(f"{name} down")

    return Step(name, LOOP, start, stop, before_drain=more.get("before_drain", False))


def failing(with_error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise with_error

    return fail


async def test_steps_go_up_in_order_and_down_in_reverse() -> None:
    notes: list[str] = []
    flight = stairs(noting(notes, "a"), noting(notes, "b"))
    await flight.start()
    await flight.stop()
    assert notes == ["a up", "b up", "b down", "a down"]


async def test_a_failed_step_takes_down_what_was_up_and_says_so() -> None:
    notes: list[str] = []
    broken = Step("database", THREAD, failing(ValueError("no disk")))
    flight = stairs(noting(notes, "a"), broken, noting(notes, "c"))
    with pytest.raises(StepFailed, match=r"^The start failed at database: no disk\.$"):
        await flight.start()
    assert notes == ["a up", "a down"]


async def test_a_complaint_keeps_its_own_sentence() -> None:
    flight = stairs(Step("folder", THREAD, failing(Complaint("The folder is taken."))))
    with pytest.raises(Complaint, match=r"^The folder is taken\.$"):
        await flight.start()


async def test_a_step_runs_in_its_domain() -> None:
    where: list[bool] = []

    def note() -> None:
        where.append(threading.current_thread() is threading.main_thread())

    async def note_on_loop() -> None:
        note()

    flight = stairs(Step("a", LOOP, note_on_loop, note_on_loop), Step("b", THREAD, note, note))
    await flight.start()
    await flight.stop()
    assert where == [True, False, False, True]


async def test_jobs_stop_before_everything_else() -> None:
    notes: list[str] = []
    flight = stairs(noting(notes, "pool"), noting(notes, "jobs", before_drain=True))
    await flight.start()
    await flight.stop_early()
    assert notes[2:] == ["jobs down"]
    await flight.stop()
    assert notes[3:] == ["pool down"]


def test_a_job_below_other_steps_is_refused() -> None:
    notes: list[str] = []
    with pytest.raises(StepsOutOfOrder, match="jobs"):
        stairs(noting(notes, "jobs", before_drain=True), noting(notes, "pool"))


async def test_a_stop_that_fails_does_not_keep_the_others_up() -> None:
    notes: list[str] = []
    flight = stairs(noting(notes, "a"), Step("b", THREAD, stop=failing(ValueError("stuck"))))
    await flight.start()
    await flight.stop()
    assert notes == ["a up", "a down"]
    assert flight.failures == ["b"]


async def test_a_stop_that_never_ends_is_left_behind() -> None:
    notes: list[str] = []
    flight = stairs(noting(notes, "a"), Step("b", LOOP, stop=anyio.sleep_forever, seconds=0.01))
    await flight.start()
    await flight.stop()
    assert notes == ["a up", "a down"]
    assert flight.failures == ["b"]


async def test_a_thread_that_never_ends_is_left_behind() -> None:
    release = threading.Event()
    flight = stairs(Step("b", THREAD, stop=release.wait, seconds=0.01))
    await flight.start()
    await flight.stop()
    release.set()
    assert flight.failures == ["b"]


async def test_what_a_step_opens_exists_while_it_is_up() -> None:
    @asynccontextmanager
    async def open_door() -> AsyncIterator[str]:
        yield "door"

    door: Opened[str] = Opened("door")
    flight = stairs(opening(door, "door", "for the test", open_door))
    with pytest.raises(NotOpen, match="door"):
        door()
    await flight.start()
    assert door() == "door"
    await flight.stop()
    assert not door.is_open


async def test_a_thread_that_was_starting_when_the_start_was_given_up_is_stopped_too() -> None:
    begun, go_on, notes = threading.Event(), threading.Event(), list[str]()

    def start() -> None:
        begun.set()
        go_on.wait()
        notes.append("up")

    flight = stairs(Step("database", THREAD, start, lambda: notes.append("down")))
    climbing = asyncio.ensure_future(flight.start())
    await eventually(begun.is_set)
    climbing.cancel()
    await anyio.lowlevel.checkpoint()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await climbing
    assert notes == ["up", "down"]
