"""Only the time on the loop counts, not the time of waiting."""

import asyncio
from time import perf_counter

import anyio
import pytest
from anyio.lowlevel import checkpoint

from rookery.boundary.offload import Threads
from rookery.boundary.watch import LoopMeter, LoopTime

pytestmark = pytest.mark.anyio


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
    await meter.measure("work", work(0))
    assert meter.times()["work"].total_seconds < perf_counter() - began - 0.005


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
