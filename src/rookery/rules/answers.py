"""What comes of a call: the answer, and what is to be written before the answer may leave."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import add
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import astuple

from rookery.model.events import Event
from rookery.model.machine import Machine
from rookery.model.run import Run
from rookery.model.task import PlayedBatch, Task
from rookery.rules.eligibility import Reason
from rookery.rules.purge import BadTask, Purging

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Closing:
    """Tasks that ended together with their run; their rows may follow in slices."""

    run: str
    at: datetime
    tasks: tuple[Task, ...]

    def rows(self) -> Iterator[Task]:
        return (task.closed() for task in self.tasks)


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """A point of a run's charts."""

    run: str
    at: datetime
    games: int
    pentanomial: tuple[int, int, int, int, int]
    llr: float
    cores: int
    nps: float | None = None
    """Nodes a second over all cores, as measured within the last minute; None: not known."""


@dataclass(frozen=True, slots=True)
class MachineHistory:
    """What a machine played before: kept so that it goes on with runs it knows."""

    short_name: str
    seen: tuple[str, ...]
    last: str


@dataclass(frozen=True, slots=True)
class MachineBlock:
    """A machine that gets no tasks, with the message it is given; None lifts the block."""

    short_name: str
    message: str | None
    at: datetime
    actor: str = ""
    """Who blocked it; empty where that was not written down yet."""

    @property
    def is_approvers(self) -> bool:
        """Whether somebody else than the owner blocked it, which only approvers may."""
        return bool(self.actor) and not self.short_name.startswith(f"{self.actor}-")


@dataclass(frozen=True, slots=True)
class TaskSeen:
    """When a task last gave a sign of life; written in bulk, for display alone."""

    run: str
    task: int
    at: datetime


class DoneCommand(NamedTuple):
    """A command that may be sent again: the key it is known by, the run it was about, and a digest
    of what it said."""

    key: str
    run: str
    body: str = ""


class Changes(Struct, frozen=True):
    """Everything that one operation writes: rows with their new absolute values, and events that
    are told once they are committed."""

    runs: tuple[Run, ...] = ()
    tasks: tuple[Task, ...] = ()
    closings: tuple[Closing, ...] = ()
    events: tuple[Event, ...] = ()
    purges: tuple[Purging, ...] = ()
    """Of runs that ended and are to be purged next."""
    bad: tuple[BadTask, ...] = ()
    """Tasks as they were before their results were struck out or kept apart; what is left of them
    is among the tasks."""
    samples: tuple[ChartPoint, ...] = ()
    provenance: tuple[PlayedBatch, ...] = ()
    blocks: tuple[MachineBlock, ...] = ()
    seen: tuple[TaskSeen, ...] = ()
    recalled: tuple[MachineHistory, ...] = ()
    purging: tuple[Purging, ...] = ()
    """Purges under way, as they are to be found after a crash; those that are due besides."""
    purged: tuple[str, ...] = ()
    """Runs whose purge is over."""
    done: tuple[DoneCommand, ...] = ()

    def __add__(self, other: "Changes") -> "Changes":
        return Changes(*map(add, astuple(self), astuple(other)))

    def __bool__(self) -> bool:
        return self != NO_CHANGES


NO_CHANGES = Changes()


class Decision(Struct, Generic[A], frozen=True):
    """An answer, and what must be written before it may leave."""

    answer: A
    changes: Changes = NO_CHANGES


# What workers are told, as values; the wire formats turn them into messages.


@dataclass(frozen=True, slots=True)
class HeldTask:
    """A worker's call about its task, with the worker as it describes itself now."""

    run: str
    task: int
    machine: Machine


@dataclass(frozen=True, slots=True)
class Grant:
    """A task to play."""

    run: Run
    task: Task


@dataclass(frozen=True, slots=True)
class NoTask:
    """Nothing to play; how many runs were out of the question, and why."""

    reasons: tuple[tuple[Reason, int], ...] = ()


class RefusalKind(enum.Enum):
    """Why a worker gets no task."""

    BLOCKED = "blocked"
    DUPLICATE = "duplicate"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The worker may not have a task at all, whatever there is to play."""

    kind: RefusalKind
    why: str


class StopAnswer(enum.Enum):
    """What came of a worker's wish to stop a run."""

    STOPPED = "stopped"
    FINISHED = "finished"
    NOT_TRUSTED = "not trusted"


class ComplaintWeight(enum.Enum):
    """What the word of a machine's owner about somebody else's run is worth: it stops the run, it
    counts together with the same word of others, or it is noted."""

    STOPS = "stops"
    COUNTS = "counts"
    NOTED = "noted"


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """Whether to go on with the task; `error` where a result was refused."""

    alive: bool
    info: str = ""
    error: str = ""


GO_ON = TaskVerdict(True)
OVER = TaskVerdict(False, info="the task is not active any more")
DONE = TaskVerdict(False)
