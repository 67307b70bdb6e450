"""What is known of a run besides its results, in the JSON API: why it does not move, who differs
from whom, how it came about, and what workers leave behind."""

from datetime import datetime
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from rookery.model.bounds import RunId
from rookery.model.task import Results
from rookery.protocol.v1 import PageOf, TaskEntry

Colour = Literal["green", "yellow", "red"]


class DiagnosisFigure(Struct, frozen=True, kw_only=True):
    """A figure behind a diagnosis; `run` is there where it is about another run that the reader may
    know of."""

    name: str
    value: str
    run: RunId | UnsetType = UNSET


class Diagnosis(Struct, frozen=True, kw_only=True):
    """Why a run is not moving, or that it is: one finding, a sentence and the evidence."""

    finding: str
    sentence: str
    evidence: tuple[DiagnosisFigure, ...]


class ResidualEntry(Struct, frozen=True, kw_only=True):
    """What a worker played of a run, and by how many sigmas that differs from the others; without a
    residual it has played too little to be judged."""

    worker: str
    user: str
    results: Results
    residual: float | UnsetType = UNSET
    colour: Colour | UnsetType = UNSET


class ResidualList(PageOf, frozen=True, kw_only=True):
    """A page of workers, those that differ most first. The test over all of them is there once two
    have played enough."""

    workers: tuple[ResidualEntry, ...]
    chi_square: float | UnsetType = UNSET
    degrees: int | UnsetType = UNSET
    p_value: float | UnsetType = UNSET


class SampleEntry(Struct, frozen=True, kw_only=True):
    """A point of a run's chart."""

    time: datetime
    games: int
    pentanomial: tuple[int, int, int, int, int]
    llr: float
    cores: int


class SampleList(Struct, frozen=True, kw_only=True):
    """How a run came to stand where it does: a few hundred points at the most, in order."""

    samples: tuple[SampleEntry, ...]


class BadTaskEntry(TaskEntry, frozen=True, kw_only=True):
    """A task as it was before its results were struck out, and why."""

    colour: Colour
    residual: float | UnsetType = UNSET


class BadTaskList(PageOf, frozen=True, kw_only=True):
    """A page of tasks that were struck out, in the order of the purges."""

    tasks: tuple[BadTaskEntry, ...]


class ProvenanceEntry(Struct, frozen=True, kw_only=True):
    """How a batch of games was played, as a worker of ours tells it: by which runner, with which
    programs, how much the clock was scaled and how late the runner woke up."""

    task: int
    time: datetime
    games: int
    runner: str
    version: str
    new_hash: str
    base_hash: str
    factor: float
    latency_ms: float


class ProvenanceList(PageOf, frozen=True, kw_only=True):
    """A page of batches in the order they came in."""

    batches: tuple[ProvenanceEntry, ...]


class GameEntry(Struct, frozen=True, kw_only=True):
    """A game of a task, as its upload tells it; equal openings have equal digests."""

    number: int
    outcome: str
    ending: str
    new_is_white: bool
    plies: int
    opening: str


class GameList(PageOf, frozen=True, kw_only=True):
    """The games of a task in the order of their uploads; a page of them."""

    games: tuple[GameEntry, ...]


class RunGameEntry(GameEntry, frozen=True, kw_only=True):
    """A game of a run; `number` is its place in its task."""

    task: int


class RunGameList(PageOf, frozen=True, kw_only=True):
    """The games of a run task by task; a page of them."""

    games: tuple[RunGameEntry, ...]


class LogEntry(Struct, frozen=True, kw_only=True):
    """A log that a worker sent along with a call."""

    id: int
    run: RunId
    task: int
    call: str
    worker: str
    time: datetime
    size: int


class LogList(PageOf, frozen=True, kw_only=True):
    """A page of the logs of a run, newest first."""

    logs: tuple[LogEntry, ...]
