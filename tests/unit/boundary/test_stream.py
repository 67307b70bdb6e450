"""A blocking source is read chunk by chunk in threads and always closed."""

from collections.abc import Iterator
from contextlib import aclosing
from io import BytesIO
from threading import Event, get_ident

import anyio
import pytest

from rookery.boundary.offload import Threads, stream
from tests.eventually import eventually

pytestmark = pytest.mark.anyio


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
