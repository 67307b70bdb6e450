"""The values that reads of the fleet's rows (`reads`) take and return."""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rookery.model.run import Run
from rookery.model.task import Results, Tally, Task
from rookery.rules.answers import MachineBlock, MachineHistory
from rookery.rules.purge import Purging

EVERYTHING = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Correction:
    """The sums of a run that disagreed with its tasks when a primary started, and the true ones."""

    run: str
    stored: Tally
    counted: Tally


@dataclass(frozen=True, slots=True)
class MachineGames:
    """The number of counted games of a run that one machine played, by its short name."""

    run: str
    machine: str
    user: str
    games: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that a new primary reads into its working set."""

    runs: tuple[tuple[Run, tuple[Task, ...]], ...]
    """Every unfinished run with its active tasks; sums are recomputed from all task rows."""
    blocks: dict[str, MachineBlock]
    recalled: tuple[MachineHistory, ...]
    corrections: tuple[Correction, ...] = ()
    purging: tuple[Purging, ...] = ()
    """Purges that were due or under way."""
    played: tuple[MachineGames, ...] = ()


class Grouping(enum.StrEnum):
    """By what those who played a run are grouped."""

    USER = "user"
    CPU = "cpu"
    ARCH = "arch"
    RUNNER = "runner"


@dataclass(frozen=True, slots=True)
class Contribution:
    """What the machines of one group have played of a run: those of a user, or those with the same
    processor, architecture or match runner. What official workers don't tell has an empty name."""

    by: Grouping
    name: str
    machines: int
    results: Results
    all_groups: int
    """How many groups of this kind there are, with those that are not listed."""
    all_games: int
    """What all of them have played."""


class TaskOrder(enum.StrEnum):
    """What a list of tasks may be sorted by."""

    NUMBER = "task"
    MACHINE = "machine"
    GAMES = "games"
    REPORTED = "reported"
    CRASHES = "crashes"
    TIME_LOSSES = "time"


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """Which tasks of a run a list asks for. `text` is looked for in the names of users and
    machines; `state` is one of TASK_STATES, or empty for all; `differing` are the long names of
    workers whose results lie far from those of the others."""

    run: str
    text: str = ""
    state: str = ""
    order: TaskOrder = TaskOrder.NUMBER
    descending: bool = True
    first: int = 0
    count: int = 50
    differing: tuple[str, ...] = ()


DIFFERING = "differing"
TASK_STATES = ("playing", "ended", "struck out", "kept apart", "crashes", DIFFERING)


@dataclass(frozen=True, slots=True)
class TaskPage:
    """A page of a list of tasks, and how many there are in all."""

    tasks: tuple[Task, ...]
    total: int


@dataclass(frozen=True, slots=True)
class WorkerResults:
    """What one process of a worker has played of a run, by the name that people know it by."""

    worker: str
    user: str
    results: Results


SHORTEST_COMMIT = 7
_COMMIT = re.compile(rf"[0-9a-f]{{{SHORTEST_COMMIT},40}}", re.ASCII)


def may_begin_commit(text: str) -> bool:
    """Whether a text that runs are searched for may be the beginning of a commit's name: long
    enough that words of these letters are none."""
    return _COMMIT.fullmatch(text.lower()) is not None


@dataclass(frozen=True, slots=True)
class FinishedRunsQuery:
    """Which finished runs a list asks for, newest first."""

    page: int = 1
    page_size: int = 50
    owner: str = ""
    engine: str = ""
    green_only: bool = False
    yellow_only: bool = False
    ltc_only: bool = False
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""
    """A part of a run's tags, engines, info or its owner's name, whatever the case; or the first
    letters of a commit."""
    deleted: bool = False
    """Those that were taken off the lists instead of those that are on them."""
    hidden: frozenset[str] = frozenset()
    """Engines that the reader may not know of."""


@dataclass(frozen=True, slots=True)
class LogVisibility:
    """What somebody may see of the log of actions; the defaults are a stranger's."""

    hidden: frozenset[str] = frozenset()
    """Engines that the reader may not know of."""
    teams: frozenset[str] | None = frozenset()
    """Teams that the reader knows of; None: all of them."""
    person: str | None = ""
    """Whose own affairs the reader may see; None: everybody's."""


STRANGER = LogVisibility()


@dataclass(frozen=True, slots=True)
class FailureQuery:
    """Which failures of tasks a list asks for, those that happened last first."""

    since: datetime
    kinds: tuple[str, ...]
    sight: LogVisibility = STRANGER
    run: str = ""
    first: int = 0
    limit: int = 50


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failures of one run that say the same, but for numbers."""

    run: str
    run_name: str
    action: str
    message: str
    """Of the last one."""
    count: int
    machines: int
    first: datetime
    last: datetime
    latest: tuple[tuple[str, int], ...]
    """Workers and tasks of the last few."""


@dataclass(frozen=True, slots=True)
class ChangedRuns:
    """Runs with the number of the last commit that changed each, up to commit `sequence`. Not
    `complete` where more have changed than are listed."""

    sequence: int
    runs: Mapping[str, int]
    complete: bool = True
