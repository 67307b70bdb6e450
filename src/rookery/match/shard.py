"""What a match and its shards say to one another, a line of JSON each.

A match sends an Order first, then Jobs, no more at a time than the shard has slots, then Enough; a
shard answers with what happens.
"""

import asyncio
import contextlib
import gc
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

import msgspec

from rookery.errors import Complaint
from rookery.match.clock import Latency
from rookery.match.game import LocalMatch
from rookery.match.job import (
    EngineSpec,
    Event,
    GameEnded,
    GameResult,
    GameStarted,
    LatencyMeasured,
    PairEnded,
    PairJob,
    PairResult,
    Setup,
)
from rookery.match.openings import Opening
from rookery.model.timecontrol import parse

LONGEST_LINE = 2**24


class ShardOrder(msgspec.Struct, frozen=True, tag=True):
    """How to play, at how many slots, on which processors."""

    setup: Setup
    slots: int
    processors: tuple[int, ...]


class Engine(msgspec.Struct, frozen=True):
    """An engine's description, its time control written out."""

    name: str
    command: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    tc: str
    threads: int
    folder: str | None
    environment: tuple[tuple[str, str], ...] | None


class Job(msgspec.Struct, frozen=True, tag=True):
    """A pair to play."""

    number: int
    opening: Opening
    first: Engine
    second: Engine


class Enough(msgspec.Struct, frozen=True, tag=True):
    """No job comes any more; one slot may close."""


class Started(msgspec.Struct, frozen=True, tag=True):
    event: GameStarted


class Ended(msgspec.Struct, frozen=True, tag=True):
    pair: int
    game: int
    result: GameResult


class Paired(msgspec.Struct, frozen=True, tag=True):
    """The games themselves went before."""

    number: int
    first: str
    second: str
    slot: int


class Measured(msgspec.Struct, frozen=True, tag=True):
    latency: Latency
    last: bool


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The match can't go on, and why."""

    why: str


Question = ShardOrder | Job | Enough
Report = Started | Ended | Paired | Measured | Failed

_encoder = msgspec.json.Encoder()
read_question: Callable[[bytes], Question] = msgspec.json.Decoder(Question).decode
read_report: Callable[[bytes], Report] = msgspec.json.Decoder(Report).decode


def line(message: Question | Report) -> bytes:
    return _encoder.encode(message) + b"\n"


def job_message(job: PairJob) -> Job:
    return Job(job.number, job.opening, _engine(job.first), _engine(job.second))


def job_of(message: Job) -> PairJob:
    return PairJob(message.number, message.opening, _spec(message.first), _spec(message.second))


def report_of(event: Event) -> Report:
    if isinstance(event, GameStarted):
        return Started(event)
    if isinstance(event, GameEnded):
        return Ended(event.pair, event.game, event.result)
    if isinstance(event, PairEnded):
        return Paired(event.pair.number, event.pair.first, event.pair.second, event.pair.slot)
    return Measured(event.latency, event.last)


class Hearing:
    """Turns a shard's reports back into events; it keeps the games of a pair for the pair."""

    def __init__(self, first_slot: int = 0) -> None:
        self._first_slot = first_slot
        self._games: dict[int, list[GameResult]] = {}

    def event(self, report: Started | Ended | Paired | Measured) -> Event:
        if isinstance(report, Started):
            return report.event
        if isinstance(report, Ended):
            self._games.setdefault(report.pair, []).append(report.result)
            return GameEnded(report.pair, report.game, report.result)
        if isinstance(report, Paired):
            first, second = self._games.pop(report.number)
            slot = self._first_slot + report.slot
            names = report.first, report.second
            return PairEnded(PairResult(report.number, *names, (first, second), slot))
        return LatencyMeasured(report.latency, report.last)


def _engine(spec: EngineSpec) -> Engine:
    folder = None if spec.folder is None else str(spec.folder)
    return Engine(
        spec.name, spec.command, spec.options, str(spec.tc), spec.threads, folder, spec.environment
    )


def _spec(engine: Engine) -> EngineSpec:
    folder = None if engine.folder is None else Path(engine.folder)
    return EngineSpec(
        engine.name,
        engine.command,
        engine.options,
        parse(engine.tc),
        engine.threads,
        folder,
        engine.environment,
    )


# A runner process of its own: plays the jobs it reads and writes what happens.
#
#     python -m rookery.match
#
# It ends, and its engines with it, when its input does: also when the match was killed.

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
    assert isinstance(order, ShardOrder)
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
