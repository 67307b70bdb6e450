"""Changes: what an operation altered, for the group commit and for those who listen."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from rookery.core.events import Event
from rookery.core.purge import BadTask, Purging
from rookery.core.run import Run
from rookery.core.task import Task

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
class Outcome(Generic[A]):
    """What to answer, and what changed."""

    answer: A
    changes: Changes = NO_CHANGES
