"""The outcome of a call: the answer, and what must be written before the answer may leave."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import add
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import astuple

from rookery.core.model.events import Event
from rookery.core.model.machine import Machine
from rookery.core.model.run import Run
from rookery.core.model.task import PlayedBatch, Task
from rookery.server.farm.rules.eligibility import Reason
from rookery.server.farm.rules.purge import BadTask, Purging

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Closing:
    """Tasks that ended together with their run; their rows may be written later, in slices."""

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
    """Nodes per second over all cores, measured within the last minute; None if unknown."""


@dataclass(frozen=True, slots=True)
class MachineHistory:
    """The runs that a machine has played, kept so that it continues with runs it knows."""

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
    """The user who blocked it; empty in old rows without one."""

    @property
    def is_approvers(self) -> bool:
        """Whether somebody other than the owner blocked it, which only approvers may."""
        return bool(self.actor) and not self.short_name.startswith(f"{self.actor}-")


@dataclass(frozen=True, slots=True)
class TaskSeen:
    """When a task last gave a sign of life; written in bulk and only displayed."""

    run: str
    task: int
    at: datetime


class DoneCommand(NamedTuple):
    """A command that may be sent again: its key, the run that it changed, and a digest of its
    body."""

    key: str
    run: str
    body: str = ""


class Changes(Struct, frozen=True):
    """Everything that one operation writes: rows with new absolute values, and events that are
    published after the commit."""

    runs: tuple[Run, ...] = ()
    tasks: tuple[Task, ...] = ()
    closings: tuple[Closing, ...] = ()
    events: tuple[Event, ...] = ()
    purges: tuple[Purging, ...] = ()
    """Purges that are due, of runs that just ended."""
    bad: tuple[BadTask, ...] = ()
    """Tasks as they were before their results were struck out or kept apart; their new state is in
    `tasks`."""
    samples: tuple[ChartPoint, ...] = ()
    provenance: tuple[PlayedBatch, ...] = ()
    blocks: tuple[MachineBlock, ...] = ()
    seen: tuple[TaskSeen, ...] = ()
    recalled: tuple[MachineHistory, ...] = ()
    purging: tuple[Purging, ...] = ()
    """The progress of purges under way, for continuing after a crash; those in `purges` are stored
    in addition."""
    purged: tuple[str, ...] = ()
    """Runs whose purge is over."""
    done: tuple[DoneCommand, ...] = ()

    def __add__(self, other: "Changes") -> "Changes":
        return Changes(*map(add, astuple(self), astuple(other)))

    def __bool__(self) -> bool:
        return self != NO_CHANGES


NO_CHANGES = Changes()


class Decision(Struct, Generic[A], frozen=True):
    """An answer, and the changes that must be committed before it may leave."""

    answer: A
    changes: Changes = NO_CHANGES


# Answers to workers, as values; the wire formats turn them into messages.


@dataclass(frozen=True, slots=True)
class HeldTask:
    """A worker's call about its task, with the worker's present description of itself."""

    run: str
    task: int
    machine: Machine

    def is_about(self, task: Task) -> bool:
        """Whether the caller is the worker that was given this task."""
        held, own = task.machine, self.machine
        return (held.key, held.user) == (own.key, own.user)


@dataclass(frozen=True, slots=True)
class Grant:
    """A task to play."""

    run: Run
    task: Task


@dataclass(frozen=True, slots=True)
class NoTask:
    """There is no task; for each reason, the number of runs that it excludes."""

    reasons: tuple[tuple[Reason, int], ...] = ()


class RefusalKind(enum.Enum):
    """Why a worker gets no task."""

    BLOCKED = "blocked"
    DUPLICATE = "duplicate"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The worker may not have any task, whatever there is to play."""

    kind: RefusalKind
    why: str


class StopAnswer(enum.Enum):
    """The answer to a worker that wants to stop a run."""

    STOPPED = "stopped"
    FINISHED = "finished"
    NOT_TRUSTED = "not trusted"


class ComplaintWeight(enum.Enum):
    """The weight of a complaint about somebody else's run, depending on the machine's owner: it
    stops the run, it counts together with equal complaints of others, or it is only noted."""

    STOPS = "stops"
    COUNTS = "counts"
    NOTED = "noted"


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """Whether the worker should go on with the task; `error` tells why a result was refused."""

    alive: bool
    info: str = ""
    error: str = ""


GO_ON = TaskVerdict(True)
OVER = TaskVerdict(False, info="the task is not active any more")
DONE = TaskVerdict(False)
