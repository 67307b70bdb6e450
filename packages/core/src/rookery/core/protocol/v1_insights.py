"""Details of a run in the JSON API besides its results: diagnosis, residuals, chart, purged tasks,
provenance of batches, games and logs.
"""

from datetime import datetime
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from rookery.core.model.bounds import RunId
from rookery.core.model.task import Results
from rookery.core.protocol.v1 import PageOf, TaskEntry

Colour = Literal["green", "yellow", "red"]


class DiagnosisFigure(Struct, frozen=True, kw_only=True):
    """A figure behind a diagnosis; `run` is set where it is about another run that the caller may
    see."""

    name: str
    value: str
    run: RunId | UnsetType = UNSET


class Diagnosis(Struct, frozen=True, kw_only=True):
    """Why a run makes no progress, or that it does: one finding, a sentence and the evidence."""

    finding: str
    sentence: str
    evidence: tuple[DiagnosisFigure, ...]


class ResidualEntry(Struct, frozen=True, kw_only=True):
    """The results of a worker in a run, and by how many sigmas they differ from the others'; there
    is no residual for a worker with too few games."""

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
    """A point of a run's chart. `elo` is that of the pairs so far with the ends of its 95 %
    interval, for a sequential test estimated as its `live_elo` is; `nps` the nodes a second
    over all cores that play the run, as measured within the last minute; either is missing where it
    is not known."""

    time: datetime
    games: int
    pentanomial: tuple[int, int, int, int, int]
    llr: float
    cores: int
    elo: tuple[float, float, float] | UnsetType = UNSET
    nps: float | UnsetType = UNSET


class TunedParameter(Struct, frozen=True, kw_only=True):
    """A parameter of a tune: where it began, where it is, and where it was at each of the tune's
    noted iterations."""

    name: str
    start: float
    minimum: float
    maximum: float
    now: float
    path: tuple[float, ...]


class TuneCourse(Struct, frozen=True, kw_only=True):
    """How the values of a tune moved; `iterations` are those at which they were noted."""

    iteration: int
    iterations: tuple[int, ...]
    parameters: tuple[TunedParameter, ...]


class SampleList(Struct, frozen=True, kw_only=True):
    """The course of a run's results: a few hundred points at the most, in order of time."""

    samples: tuple[SampleEntry, ...]


class BadTaskEntry(TaskEntry, frozen=True, kw_only=True):
    """A purged task as it was before, and why it was purged."""

    colour: Colour
    residual: float | UnsetType = UNSET


class BadTaskList(PageOf, frozen=True, kw_only=True):
    """A page of purged tasks, in the order of the purges."""

    tasks: tuple[BadTaskEntry, ...]


class ProvenanceEntry(Struct, frozen=True, kw_only=True):
    """How a batch of games was played, as our worker reports it: the runner, the hashes of the
    programs, the scaling of the time control and the lateness of the runner's timers."""

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
    """A page of batches in the order of their arrival."""

    batches: tuple[ProvenanceEntry, ...]


class GameEntry(Struct, frozen=True, kw_only=True):
    """A game of a task, as its upload describes it; equal openings have equal digests."""

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
    """A log that a worker sent with a call."""

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
