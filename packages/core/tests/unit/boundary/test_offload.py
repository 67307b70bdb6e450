"""Calls go to threads within limits: single calls, gates, streams."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import aclosing
from contextvars import ContextVar
from io import BytesIO
from threading import Event, get_ident

import anyio
import pytest
from anyio import to_thread
from anyio.lowlevel import checkpoint

from rookery.core.boundary.errors import GateFull, Overloaded
from rookery.core.boundary.offload import Gate, GateStats, Threads, stream
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


async def test_work_that_is_never_refused_waits_behind_a_full_queue() -> None:
    threads, release = Threads(cpu=1, cpu_queue=1), Event()
    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(threads.cpu, release.wait)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Overloaded, match="cpu"):
            await threads.cpu(release.wait)
        for _ in range(3):
            group.start_soon(threads.cpu_always, release.wait)
        group.start_soon(threads.hash, release.wait)
        await anyio.wait_all_tasks_blocked()
        release.set()
    assert (threads.stats()[1].calls, threads.stats()[1].refused) == (6, 1)


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


def slowly(verdict: bool) -> bool:
    time.sleep(0.05)
    return verdict


async def test_a_wrong_password_keeps_its_place_for_as_long_as_its_check_took() -> None:
    threads = Threads(hashing=1)
    assert not await threads.check_hash(slowly, False)
    assert threads.stats()[2].running == 1
    await until_running(threads, 2, 0)


async def test_a_right_password_gives_its_place_back_at_once() -> None:
    threads = Threads(hashing=1)
    assert await threads.check_hash(slowly, True)
    assert threads.stats()[2].running == 0


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


async def test_the_longest_wait_for_a_thread_is_remembered() -> None:
    threads = Threads()
    await threads.io(len, "")
    assert 0 < threads.stats()[0].longest_wait_seconds < 60


def test_a_full_gate_refuses_at_once_and_names_itself() -> None:
    gate = Gate("request_task", 1)
    with gate.enter(), pytest.raises(GateFull, match="request_task"), gate.enter():
        pass


def test_a_place_is_free_again_when_its_holder_leaves() -> None:
    gate = Gate("request_task", 1)
    for _ in range(3):
        with gate.enter():
            pass
    assert gate.stats() == GateStats("request_task", size=1, inside=0, entered=3, refused=0)


def test_a_place_is_free_again_when_its_holder_fails() -> None:
    gate = Gate("request_task", 1)
    with pytest.raises(ZeroDivisionError), gate.enter():
        raise ZeroDivisionError
    assert gate.stats().inside == 0


def test_refusals_are_counted() -> None:
    gate = Gate("request_task", 1)
    with gate.enter():
        for _ in range(2):
            with pytest.raises(GateFull), gate.enter():
                pass
        assert gate.stats() == GateStats("request_task", size=1, inside=1, entered=1, refused=2)


def test_a_gate_without_places_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Gate("nobody", 0)


class Source:
    """Three chunks, and a record of what was done with them and on which threads."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails
        self.read = 0
        self.closed = 0
        self.threads: set[int] = set()

    def chunks(self) -> Iterator[bytes]:
        try:
            for _ in range(3):
                self.threads.add(get_ident())
                self.read += 1
                yield b"chunk"
            if self.fails:
                raise OSError("the disk is gone")
        finally:
            self.threads.add(get_ident())
            self.closed += 1


async def test_every_chunk_arrives_and_the_source_is_closed() -> None:
    source = Source()
    assert [chunk async for chunk in stream(source.chunks, Threads())] == [b"chunk"] * 3
    assert source.closed == 1


async def test_an_iterable_will_do_as_well_as_a_function() -> None:
    lines = BytesIO(b"one\ntwo\n")
    assert [line async for line in stream(lines, Threads())] == [b"one\n", b"two\n"]
    assert lines.closed


async def test_an_empty_chunk_does_not_end_the_stream() -> None:
    assert [chunk async for chunk in stream([b"", b"x"], Threads())] == [b"", b"x"]


async def test_the_loops_thread_never_touches_the_source() -> None:
    source = Source()
    async for _ in stream(source.chunks, Threads()):
        pass
    assert get_ident() not in source.threads


async def test_nothing_is_read_before_it_is_wanted() -> None:
    source = Source()
    async with aclosing(stream(source.chunks, Threads())) as chunks:
        await anext(chunks)
        await anyio.wait_all_tasks_blocked()
        assert source.read == 1


async def test_a_stream_left_early_closes_its_source() -> None:
    source = Source()
    async with aclosing(stream(source.chunks, Threads())) as chunks:
        await anext(chunks)
    assert (source.read, source.closed) == (1, 1)


async def test_an_error_of_the_source_reaches_the_reader_and_the_source_is_closed() -> None:
    source = Source(fails=True)
    with pytest.raises(OSError, match="the disk is gone"):
        async for _ in stream(source.chunks, Threads()):
            pass
    assert source.closed == 1


async def test_a_thread_is_held_only_while_a_chunk_is_read() -> None:
    threads = Threads(tokens=1)
    first, second = stream([1, 2], threads), stream([3, 4], threads)
    assert [await anext(first), await anext(second), await anext(first)] == [1, 3, 2]
    assert threads.stats()[0].running == 0


async def test_a_reader_that_disconnects_in_the_middle_of_a_read_closes_the_source() -> None:
    threads, begun, release, closed = Threads(), Event(), Event(), Event()

    def slow() -> Iterator[int]:
        try:
            begun.set()
            release.wait()
            yield 1
        finally:
            closed.set()

    async def read() -> None:
        async for _ in stream(slow, threads):
            pytest.fail("nobody is there to read this")

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await threads.io(begun.wait)
        group.cancel_scope.cancel()
        release.set()
    assert closed.is_set()


async def test_a_forgotten_stream_closes_its_source_in_the_end() -> None:
    source = Source()
    await anext(stream(source.chunks, Threads()))
    await eventually(lambda: source.closed == 1)
