"""The watch knows how late the loop is, and shows what holds it."""

import ctypes
import time
from threading import Event
from threading import enumerate as enumerate_threads

import pytest

from rookery.boundary.offload import Threads
from rookery.boundary.watch import Blockage, Holdup, LoopWatch
from tests.eventually import eventually

pytestmark = pytest.mark.anyio


def ignore(blockage: Blockage) -> None:
    """Nobody wants to know in this test."""


async def test_every_sign_of_life_is_counted() -> None:
    async with LoopWatch(ignore, interval_seconds=0.001) as watch:
        await eventually(lambda: watch.histogram().count >= 3)
    assert watch.longest > 0


@pytest.mark.usefixtures("may_block_the_loop")
async def test_a_blocked_loop_is_reported_with_the_stack_of_what_blocks_it() -> None:
    seen: list[Blockage] = []
    found = Event()

    def report(blockage: Blockage) -> None:
        if "the_culprit" in blockage.stack:
            seen.append(blockage)
            found.set()

    def the_culprit() -> None:
        assert found.wait(60)

    async with LoopWatch(report, interval_seconds=0.001, threshold_seconds=0.01) as watch:
        the_culprit()
        await eventually(lambda: watch.longest > 0.01)
    assert seen[0].seconds >= 0.01


@pytest.mark.usefixtures("may_block_the_loop")
async def test_a_long_blockage_is_reported_again_after_twice_the_time() -> None:
    seen: list[Blockage] = []
    async with LoopWatch(seen.append, interval_seconds=0.001, threshold_seconds=0.005):
        while len(seen) < 3:
            time.sleep(0.001)  # noqa: ASYNC251 - the loop has to be blocked
    assert seen[0].seconds < seen[1].seconds < seen[2].seconds


async def test_a_loop_that_answers_is_not_reported() -> None:
    seen: list[Blockage] = []
    async with LoopWatch(seen.append, interval_seconds=0.001, threshold_seconds=60) as watch:
        await eventually(lambda: watch.histogram().count >= 2)
    assert seen == []


async def test_a_thread_that_holds_the_interpreter_is_reported_with_its_place() -> None:
    seen: list[Holdup] = []

    def the_culprit() -> None:
        # A function of C that is called without letting go of the interpreter.
        sleep = ctypes.PyDLL(None).usleep
        while not any("the_culprit" in place for holdup in seen for place in holdup.places):
            sleep(100_000)

    threads = Threads()
    async with LoopWatch(
        ignore, seen.append, interval_seconds=0.001, threshold_seconds=0.05
    ) as watch:
        await threads.io(the_culprit)
        assert watch.holdups().count == len(seen)
    assert seen[0].seconds > 0.05


async def test_a_watch_that_wakes_when_it_meant_to_reports_nothing() -> None:
    seen: list[Holdup] = []
    async with LoopWatch(
        ignore, seen.append, interval_seconds=0.001, threshold_seconds=60
    ) as watch:
        await eventually(lambda: watch.histogram().count >= 2)
    assert (seen, watch.holdups().count) == ([], 0)


async def test_the_watch_leaves_no_thread_behind() -> None:
    async with LoopWatch(ignore, interval_seconds=60):
        (watching,) = [thread for thread in enumerate_threads() if thread.name == "loop watch"]
    assert not watching.is_alive()
