"""Changes: what an operation altered, for the group commit and for those who listen."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from rookery.model.events import Event
from rookery.model.machine import Machine
from rookery.model.run import Run
from rookery.model.task import Task
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
class Changes:
    """Rows with their new absolute values, and events to be told once they are committed."""

    runs: tuple[Run, ...] = ()
    tasks: tuple[Task, ...] = ()
    closings: tuple[Closing, ...] = ()
    events: tuple[Event, ...] = ()
    purges: tuple[Purging, ...] = ()
    """Of runs that ended and are to be purged next."""
    apart: tuple[BadTask, ...] = ()
    """What tasks reported that is kept apart; what is left of them is among the tasks."""

    def __add__(self, other: "Changes") -> "Changes":
        return Changes(
            self.runs + other.runs,
            self.tasks + other.tasks,
            self.closings + other.closings,
            self.events + other.events,
            self.purges + other.purges,
            self.apart + other.apart,
        )

    def __bool__(self) -> bool:
        return bool(self.runs or self.tasks or self.closings or self.events)


NO_CHANGES = Changes()


@dataclass(frozen=True, slots=True)
class Decision(Generic[A]):
    """What to answer, and what changed."""

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


class Word(enum.Enum):
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
