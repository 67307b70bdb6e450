"""The watch knows how late the loop is, what holds it, and how much time each part takes on it."""

import asyncio
import ctypes
import math
import time
from threading import Event
from threading import enumerate as enumerate_threads
from time import perf_counter

import anyio
import pytest
from anyio.lowlevel import checkpoint

from rookery.core.boundary.offload import Threads
from rookery.core.boundary.watch import (
    Blockage,
    Histogram,
    InterpreterStall,
    LoopMeter,
    LoopTime,
    LoopWatch,
)
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
    seen: list[InterpreterStall] = []

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
    seen: list[InterpreterStall] = []
    async with LoopWatch(
        ignore, seen.append, interval_seconds=0.001, threshold_seconds=60
    ) as watch:
        await eventually(lambda: watch.histogram().count >= 2)
    assert (seen, watch.holdups().count) == ([], 0)


async def test_the_watch_leaves_no_thread_behind() -> None:
    async with LoopWatch(ignore, interval_seconds=60):
        (watching,) = [thread for thread in enumerate_threads() if thread.name == "loop watch"]
    assert not watching.is_alive()


def spin(seconds: float) -> None:
    end = perf_counter() + seconds
    while perf_counter() < end:
        pass


async def work(seconds: float) -> str:
    spin(seconds)
    await anyio.sleep(0.01)
    spin(seconds)
    return "done"


async def test_the_steps_on_the_loop_add_up() -> None:
    meter = LoopMeter()
    assert await meter.measure("work", work(0.004)) == "done"
    time = meter.times()["work"]
    assert time.total_seconds >= 0.008
    assert 0.004 <= time.longest_step_seconds < time.total_seconds


async def test_waiting_does_not_count() -> None:
    meter, began = LoopMeter(), perf_counter()
    await meter.measure("work", anyio.sleep(0.2))
    assert meter.times()["work"].total_seconds < (perf_counter() - began) / 2


async def block(seconds: float) -> None:
    time.sleep(seconds)  # noqa: ASYNC251 - it holds the loop and computes nothing


@pytest.mark.usefixtures("may_block_the_loop")
async def test_with_the_clock_of_a_thread_only_computing_counts() -> None:
    meter, began = LoopMeter(time.thread_time), perf_counter()
    await meter.measure("work", block(0.1))
    assert meter.times()["work"].total_seconds < (perf_counter() - began) / 2


async def test_calls_of_one_name_add_up() -> None:
    meter = LoopMeter()
    for _ in range(3):
        await meter.measure("work", work(0))
    assert meter.times()["work"].calls == 3


async def test_an_error_passes_through_and_is_counted() -> None:
    async def fail() -> None:
        await checkpoint()
        raise LookupError

    meter = LoopMeter()
    with pytest.raises(LookupError):
        await meter.measure("fail", fail())
    assert meter.times()["fail"].calls == 1


async def test_a_cancellation_reaches_the_work() -> None:
    ended = anyio.Event()

    async def wait() -> None:
        try:
            await anyio.sleep(60)
        finally:
            ended.set()

    with anyio.move_on_after(0.001):
        await LoopMeter().measure("wait", wait())
    assert ended.is_set()


def test_without_calls_the_mean_is_nothing() -> None:
    assert LoopTime().mean_seconds == 0


async def test_calls_to_threads_count_for_the_part_that_makes_them() -> None:
    meter, threads = LoopMeter(), Threads()

    async def both() -> None:
        await threads.io(int)
        await asyncio.gather(threads.cpu(int), threads.hash(int))

    await threads.io(int)
    await meter.measure("both", both())
    await meter.measure("none", checkpoint())
    await threads.io(int)
    assert (meter.times()["both"].threads, meter.times()["none"].threads) == (3, 0)


async def test_a_part_within_another_has_its_own_account() -> None:
    meter, threads = LoopMeter(), Threads()

    async def outer() -> None:
        await meter.measure("inner", threads.io(int))
        await threads.io(int)
        await threads.io(int)

    await meter.measure("outer", outer())
    assert (meter.times()["inner"].threads, meter.times()["outer"].threads) == (1, 2)


def test_a_duration_falls_into_the_first_bucket_that_holds_it() -> None:
    assert Histogram((1.0, 2.0), (0, 0, 0)).with_one(2.0) == Histogram((1.0, 2.0), (0, 1, 0), 2.0)


def test_a_duration_above_all_bounds_falls_into_the_last_bucket() -> None:
    assert Histogram((1.0,), (0, 0)).with_one(9.0).counts == (0, 1)


def test_a_quantile_is_the_bound_that_it_does_not_exceed() -> None:
    lags = Histogram((1.0, 2.0), (98, 1, 1))
    assert (lags.quantile(0.5), lags.quantile(0.99), lags.quantile(1.0)) == (1.0, 2.0, math.inf)
