"""The values that reads of the fleet's rows (`reads`) take and return."""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rookery.core.model.run import Run
from rookery.core.model.task import Results, Tally, Task
from rookery.server.farm.rules.answers import MachineBlock, MachineHistory
from rookery.server.farm.rules.purge import Purging

EVERYTHING = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Correction:
    """The stored sums of a run that disagreed with its tasks when a primary started, and the
    correct ones."""

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
    """Everything that a new primary reads to build its working set."""

    runs: tuple[tuple[Run, tuple[Task, ...]], ...]
    """Every unfinished run with its active tasks; sums are recomputed from all task rows."""
    blocks: dict[str, MachineBlock]
    recalled: tuple[MachineHistory, ...]
    corrections: tuple[Correction, ...] = ()
    purging: tuple[Purging, ...] = ()
    """Purges that are due or were interrupted."""
    played: tuple[MachineGames, ...] = ()


class Grouping(enum.StrEnum):
    """How the machines that played a run are grouped."""

    USER = "user"
    CPU = "cpu"
    ARCH = "arch"
    RUNNER = "runner"


@dataclass(frozen=True, slots=True)
class Contribution:
    """The results that one group of machines has played of a run: those of a user, or those with
    the same processor, architecture or match runner. The name is empty where official workers don't
    report it."""

    by: Grouping
    name: str
    machines: int
    results: Results
    all_groups: int
    """How many groups of this kind there are, including those that are not listed."""
    all_games: int
    """The games of all groups together."""


class TaskOrder(enum.StrEnum):
    """The orders in which a list of tasks can be sorted."""

    NUMBER = "task"
    MACHINE = "machine"
    GAMES = "games"
    REPORTED = "reported"
    CRASHES = "crashes"
    TIME_LOSSES = "time"


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """Selects tasks of a run for a list. `text` is searched in the names of users and machines;
    `state` is one of TASK_STATES, or empty for all; `differing` are the long names of workers whose
    results differ much from those of the others."""

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
    """A page of a list of tasks, with the length of the whole list."""

    tasks: tuple[Task, ...]
    total: int


@dataclass(frozen=True, slots=True)
class WorkerResults:
    """The results that one worker process has played of a run; `worker` is its long name."""

    worker: str
    user: str
    results: Results


SHORTEST_COMMIT = 7
_COMMIT = re.compile(rf"[0-9a-f]{{{SHORTEST_COMMIT},40}}", re.ASCII)


def may_begin_commit(text: str) -> bool:
    """Whether a search text may be the beginning of a commit's hash: hex digits, and long enough
    not to be an ordinary word."""
    return _COMMIT.fullmatch(text.lower()) is not None


@dataclass(frozen=True, slots=True)
class FinishedRunsQuery:
    """Selects finished runs for a list, newest first."""

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
    """A part of a run's tags, engines, info or owner's name, in any case; or the beginning of a
    commit's hash."""
    deleted: bool = False
    """Selects deleted runs instead of listed ones."""
    hidden: frozenset[str] = frozenset()
    """Engines that the reader may not know of."""


@dataclass(frozen=True, slots=True)
class LogVisibility:
    """What a reader may see of the log of actions; the defaults are those of a stranger."""

    hidden: frozenset[str] = frozenset()
    """Engines that the reader may not know of."""
    teams: frozenset[str] | None = frozenset()
    """The teams that the reader knows of; None for all."""
    person: str | None = ""
    """The user whose personal events the reader may see; None for everybody's."""


STRANGER = LogVisibility()


@dataclass(frozen=True, slots=True)
class FailureQuery:
    """Selects failures of tasks for a list, the most recent first."""

    since: datetime
    kinds: tuple[str, ...]
    sight: LogVisibility = STRANGER
    run: str = ""
    first: int = 0
    limit: int = 50


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failures of one run whose messages are the same apart from numbers."""

    run: str
    run_name: str
    action: str
    message: str
    """The message of the most recent failure."""
    count: int
    machines: int
    first: datetime
    last: datetime
    latest: tuple[tuple[str, int], ...]
    """The workers and tasks of the most recent failures."""


@dataclass(frozen=True, slots=True)
class ChangedRuns:
    """The runs that commits up to `sequence` changed, each with the number of the last one. It is
    not `complete` if more runs have changed than are listed."""

    sequence: int
    runs: Mapping[str, int]
    complete: bool = True
