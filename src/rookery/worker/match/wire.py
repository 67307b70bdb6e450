"""What a match and its shards say to one another, a line of JSON each.

A match sends an Order first, then Jobs, no more at a time than the shard has slots, then Enough; a
shard answers with what happens.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from rookery.core.timecontrol import parse
from rookery.worker.match.events import Event, GameEnded, GameStarted, LatencyMeasured, PairEnded
from rookery.worker.match.job import PairJob, PairResult, Setup
from rookery.worker.match.latency import Latency
from rookery.worker.match.record import GameResult
from rookery.worker.match.spec import EngineSpec
from rookery.worker.openings import Opening

LONGEST_LINE = 2**24


class Order(msgspec.Struct, frozen=True, tag=True):
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


Question = Order | Job | Enough
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
