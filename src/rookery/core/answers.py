"""What workers are told, as values; the wire formats turn them into messages."""

import enum
from dataclasses import dataclass

from rookery.core.machine import Machine
from rookery.core.run import Run
from rookery.core.scheduling.eligibility import Reason
from rookery.core.task import Task


@dataclass(frozen=True, slots=True)
class TaskCall:
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
class Waiting:
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
class Alive:
    """Whether to go on with the task; `error` where a result was refused."""

    alive: bool
    info: str = ""
    error: str = ""


GO_ON = Alive(True)
OVER = Alive(False, info="the task is not active any more")
DONE = Alive(False)
