"""A runner process of its own: plays the jobs it reads and writes what happens.

    python -m rookery.worker.match

It ends, and its engines with it, when its input does: also when the match was killed.
"""

import asyncio
import contextlib
import gc
import os
import sys
from collections.abc import Iterable
from typing import Self

from rookery.core.complaint import Complaint
from rookery.worker.match.job import PairJob
from rookery.worker.match.local import LocalMatch
from rookery.worker.match.wire import (
    LONGEST_LINE,
    Failed,
    Job,
    Order,
    job_of,
    line,
    read_question,
    report_of,
)

RARELY = 50_000
"""Objects made before the garbage collector looks: its pauses would be on the engines' clocks."""
FLUSH_SECONDS = 0.002


class Jobs:
    """The jobs that came, for as many slots as wait for one; a None sends one slot home."""

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
    """Take the order, then play what comes until nothing more does."""
    questions = await _open_input()
    reports = await _open_output()
    if not (text := await questions.readline()):
        return
    order = read_question(text)
    assert isinstance(order, Order)
    stay_on(order.processors)
    jobs = Jobs()
    async with LocalMatch(jobs, order.setup, concurrency=order.slots) as match:
        asking = asyncio.create_task(_ask(questions, jobs))
        telling = asyncio.create_task(_tell(match, reports))
        await asyncio.wait((asking, telling), return_when=asyncio.FIRST_COMPLETED)
        for task in (asking, telling):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await telling


async def _ask(questions: asyncio.StreamReader, jobs: Jobs) -> None:
    """Pass on the jobs; returns when the match is gone."""
    while text := await questions.readline():
        question = read_question(text)
        jobs.add(job_of(question) if isinstance(question, Job) else None)


async def _tell(match: LocalMatch, reports: asyncio.WriteTransport) -> None:
    """Write every event as it happens, without ever waiting for who reads it."""
    try:
        async for event in match:
            reports.write(line(report_of(event)))
    except Complaint as complaint:
        reports.write(line(Failed(str(complaint))))
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


def stay_on(processors: Iterable[int]) -> None:
    """Engines inherit it, and with it memory near their processors."""
    if wanted := set(processors):
        with contextlib.suppress(AttributeError, OSError):
            os.sched_setaffinity(0, wanted)


def main() -> None:
    gc.freeze()
    gc.set_threshold(RARELY)
    with asyncio.Runner() as runner:
        runner.run(serve())
