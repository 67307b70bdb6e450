"""Calls go to threads, each kind within its own limit."""

import asyncio
from contextvars import ContextVar
from threading import Event, get_ident

import anyio
import pytest
from anyio import to_thread
from anyio.lowlevel import checkpoint

from rookery.boundary.errors import Overloaded
from rookery.boundary.offload import Threads, check_given_up
from tests.eventually import eventually

pytestmark = pytest.mark.anyio

colour = ContextVar("colour", default="none")


async def until_running(threads: Threads, lane: int, count: int) -> None:
    await eventually(lambda: threads.stats()[lane].running == count)


async def test_a_call_runs_in_another_thread_and_returns_its_value() -> None:
    threads = Threads()
    assert await threads.io(get_ident) != get_ident()
    assert await threads.cpu(int, "ff", base=16) == 255


async def test_an_error_reaches_the_caller() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        await Threads().io(int, "x")


async def test_context_variables_travel_to_the_thread() -> None:
    colour.set("red")
    assert await Threads().hash(colour.get) == "red"


async def test_computing_never_takes_more_than_its_threads() -> None:
    threads, release = Threads(cpu=2), Event()
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(threads.cpu, release.wait)
        await until_running(threads, 1, 2)
        await anyio.wait_all_tasks_blocked()
        assert (threads.stats()[1].running, threads.stats()[1].waiting) == (2, 3)
        release.set()


async def test_waiting_calls_do_not_hold_up_computing_ones() -> None:
    threads, release = Threads(tokens=1), Event()
    async with anyio.create_task_group() as group:
        group.start_soon(threads.io, release.wait)
        await until_running(threads, 0, 1)
        assert await threads.cpu(len, "abc") == 3
        release.set()


async def test_hashing_counts_as_computing() -> None:
    threads, release = Threads(cpu=1, hashing=2), Event()
    async with anyio.create_task_group() as group:
        group.start_soon(threads.hash, release.wait)
        await until_running(threads, 1, 1)
        group.start_soon(threads.cpu, release.wait)
        await anyio.wait_all_tasks_blocked()
        assert threads.stats()[1].waiting == 1
        release.set()


async def test_a_hash_is_refused_when_the_queue_is_full() -> None:
    threads, release = Threads(hashing=1, hash_queue=1), Event()
    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(threads.hash, release.wait)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Overloaded, match="hash"):
            await threads.hash(release.wait)
        release.set()
    assert (threads.stats()[2].calls, threads.stats()[2].refused) == (2, 1)


async def test_the_frameworks_own_threads_share_the_limit_of_io() -> None:
    threads = Threads(tokens=3)
    threads.adopt_default()
    default = to_thread.current_default_thread_limiter()
    assert default.total_tokens == 3
    assert await threads.io(lambda: threads.stats()[0].running) == default.borrowed_tokens + 1


async def test_a_call_given_up_in_the_queue_never_starts() -> None:
    threads, release, ran = Threads(cpu=1), Event(), Event()
    async with anyio.create_task_group() as group:
        group.start_soon(threads.cpu, release.wait)
        await until_running(threads, 1, 1)
        with anyio.move_on_after(0.001):
            await threads.cpu(ran.set)
        release.set()
    assert not ran.is_set()


async def test_a_running_call_that_is_given_up_keeps_its_place_until_it_ends() -> None:
    threads, begun, release = Threads(cpu=1), Event(), Event()

    def work() -> None:
        begun.set()
        release.wait()

    async with anyio.create_task_group() as group:
        group.start_soon(threads.cpu, work)
        await threads.io(begun.wait)
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await anyio.wait_all_tasks_blocked()
            assert threads.stats()[1].running == 1
            release.set()
    assert threads.stats()[1].running == 0


async def test_a_call_left_by_asyncios_own_cancellation_keeps_its_place_until_it_ends() -> None:
    threads, begun, release = Threads(cpu=1), Event(), Event()

    def work() -> None:
        begun.set()
        release.wait()

    task = asyncio.create_task(threads.cpu(work))
    await threads.io(begun.wait)
    task.cancel()
    await asyncio.wait([task])
    assert threads.stats()[1].running == 1
    release.set()
    await until_running(threads, 1, 0)


async def test_a_call_cancelled_by_asyncio_before_its_start_frees_its_place() -> None:
    threads, ran = Threads(cpu=1), Event()
    task = asyncio.create_task(threads.cpu(ran.set))
    await checkpoint()
    task.cancel()
    await asyncio.wait([task])
    await until_running(threads, 1, 0)
    assert await threads.cpu(len, "abc") == 3


async def test_a_running_call_can_notice_that_it_was_given_up() -> None:
    threads, begun, ended = Threads(), Event(), Event()

    def work() -> None:
        begun.set()
        try:
            while True:
                check_given_up()
        finally:
            ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(threads.io, work)
        await threads.io(begun.wait)
        group.cancel_scope.cancel()
    assert ended.is_set()


async def test_the_longest_wait_for_a_thread_is_remembered() -> None:
    threads = Threads()
    await threads.io(len, "")
    assert 0 < threads.stats()[0].longest_wait_seconds < 60
