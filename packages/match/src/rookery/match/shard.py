"""A runner process of a match: reads pairs, plays them, and writes events, all as lines of JSON.

    python -m rookery.match.shard

A match sends a ShardOrder first, then pairs, at most as many at once as the shard has slots, then
NoMorePairs for each slot. The process and its engines end when its input is closed, even if the
match was killed.
"""

import asyncio
import contextlib
import gc
import os
import sys
from collections.abc import Callable, Iterable
from typing import Self

import msgspec

from rookery.core.errors import Complaint
from rookery.match.game import LocalMatch
from rookery.match.job import Event, PairJob, Setup

LONGEST_LINE = 2**24


class ShardOrder(msgspec.Struct, frozen=True, tag=True):
    """How to play: the setup, the number of slots, and the processors."""

    setup: Setup
    slots: int
    processors: tuple[int, ...]


class NoMorePairs(msgspec.Struct, frozen=True, tag=True):
    """There are no more pairs; one slot may close."""


class ShardFailed(msgspec.Struct, frozen=True, tag=True):
    """The match can't continue, with the reason."""

    why: str


Question = ShardOrder | PairJob | NoMorePairs
Report = Event | ShardFailed

_encoder = msgspec.json.Encoder()
read_question: Callable[[bytes], Question] = msgspec.json.Decoder(Question).decode
read_report: Callable[[bytes], Report] = msgspec.json.Decoder(Report).decode


def to_line(message: Question | Report) -> bytes:
    return _encoder.encode(message) + b"\n"


GC_THRESHOLD = 50_000
"""How many objects may be made before a garbage collection, whose pause is on the engines'
clocks."""
FLUSH_SECONDS = 0.002


class JobQueue:
    """The jobs that were read, for waiting slots. A None closes one slot."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[PairJob | None] = asyncio.Queue()

    def add(self, job: PairJob | None) -> None:
        self._queue.put_nowait(job)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> PairJob:
        if (job := await self._queue.get()) is None:
            raise StopAsyncIteration
        return job


async def serve() -> None:
    """Read the order, then play pairs until there are no more."""
    questions = await _open_input()
    reports = await _open_output()
    if not (text := await questions.readline()):
        return
    order = read_question(text)
    assert isinstance(order, ShardOrder)
    set_affinity(order.processors)
    jobs = JobQueue()
    async with LocalMatch(jobs, order.setup, concurrency=order.slots) as match:
        asking = asyncio.create_task(_read_jobs(questions, jobs))
        telling = asyncio.create_task(_write_events(match, reports))
        await asyncio.wait((asking, telling), return_when=asyncio.FIRST_COMPLETED)
        for task in (asking, telling):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await telling


async def _read_jobs(questions: asyncio.StreamReader, jobs: JobQueue) -> None:
    """Pass jobs on until the match has ended."""
    while text := await questions.readline():
        question = read_question(text)
        jobs.add(question if isinstance(question, PairJob) else None)


async def _write_events(match: LocalMatch, reports: asyncio.WriteTransport) -> None:
    """Write every event as it happens, without waiting for its reader."""
    try:
        async for event in match:
            reports.write(to_line(event))
    except Complaint as complaint:
        reports.write(to_line(ShardFailed(str(complaint))))
    while reports.get_write_buffer_size():  # noqa: ASYNC110 - a transport tells nobody it is done
        await asyncio.sleep(FLUSH_SECONDS)


async def _open_input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer
    )
    return reader


async def _open_output() -> asyncio.WriteTransport:
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(
        asyncio.BaseProtocol, sys.stdout.buffer
    )
    return transport


def set_affinity(processors: Iterable[int]) -> None:
    """Keep this process on some processors. Engines inherit that, and memory near them."""
    if wanted := set(processors):
        with contextlib.suppress(AttributeError, OSError):
            os.sched_setaffinity(0, wanted)


def main() -> None:
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    with asyncio.Runner() as runner:
        runner.run(serve())


if __name__ == "__main__":
    main()
