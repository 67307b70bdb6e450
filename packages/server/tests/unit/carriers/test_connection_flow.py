"""Who reads nothing is given up, who reads slowly is not; reading that is held stays so."""

import asyncio
from collections.abc import Sequence

import pytest

from rookery.server.carriers.connection_flow import ConnectionFlow

pytestmark = pytest.mark.anyio


class Pipe(asyncio.Transport):
    """A transport of which so many bytes are unread at each look."""

    def __init__(self, unread: Sequence[int]) -> None:
        super().__init__()
        self._unread = iter(unread)
        self.ended = asyncio.Event()
        self.looks = 0
        self.reads = True

    def get_write_buffer_size(self) -> int:
        self.looks += 1
        return next(self._unread)

    def abort(self) -> None:
        self.ended.set()

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


async def test_who_reads_nothing_is_given_up() -> None:
    pipe = Pipe([100_000, 100_000])
    ConnectionFlow(pipe, 0.0).pause_writing()
    await pipe.ended.wait()
    assert pipe.looks == 2


async def test_who_reads_slowly_is_not() -> None:
    pipe = Pipe([100_000, 90_000, 80_000, 80_000])
    ConnectionFlow(pipe, 0.0).pause_writing()
    await pipe.ended.wait()
    assert pipe.looks == 4


async def test_who_has_read_enough_is_no_longer_watched() -> None:
    pipe = Pipe([100_000])
    flow = ConnectionFlow(pipe, 0.0)
    flow.pause_writing()
    flow.resume_writing()
    await asyncio.sleep(0.05)
    assert (pipe.looks, pipe.ended.is_set()) == (1, False)


async def test_held_reading_is_resumed_by_who_held_it() -> None:
    pipe = Pipe([])
    flow = ConnectionFlow(pipe, 60.0)
    flow.hold()
    flow.resume_reading()
    assert not pipe.reads
    flow.let_go()
    assert pipe.reads


async def test_who_held_reading_does_not_resume_it_for_others() -> None:
    pipe = Pipe([])
    flow = ConnectionFlow(pipe, 60.0)
    flow.pause_reading()
    flow.hold()
    flow.let_go()
    assert not pipe.reads
    flow.resume_reading()
    assert pipe.reads
