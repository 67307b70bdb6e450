"""What the fleet asks of its store and is told by it, and why it refuses a call."""

from asyncio import Future
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from rookery.boundary.watch import Histogram
from rookery.model.run import Run, RunFault
from rookery.model.task import Results, Tally, Task
from rookery.rules.answers import Changes, MachineHistory
from rookery.rules.purge import Purging

EVERYTHING = 2**31 - 1


class QueueFull(Exception):
    """Too many changes wait for their commit; nothing was taken."""


class StateLost(Exception):
    """The commit failed or its outcome is unknown: what is in memory may not be told to anyone."""


@dataclass(frozen=True, slots=True)
class CommitStats:
    """What the group commit has done so far, and what waits now."""

    rounds: int = 0
    changes: int = 0
    largest: int = 0
    seconds: Histogram = field(default_factory=Histogram)
    waiting: int = 0
    backlog: int = 0
    lost: bool = False


class CommitQueue(Protocol):
    """The group commit. Each put has a sequence number; puts are committed in that order."""

    def check_capacity(self) -> None:
        """Raises StateLost once a commit has failed, and QueueFull beyond the bound of changes or
        of age. There is no rollback in memory, so this is asked before anything is changed there;
        the very next put is then taken, whatever its size."""
        ...

    def put(self, changes: Changes) -> int:
        """Joins the next commit; raises StateLost once a commit has failed."""
        ...

    def committed(self, sequence: int) -> "Future[bool] | None":
        """Whether everything up to there is committed, once that is known; None where it is by
        now. Raises StateLost once a commit has failed."""
        ...

    async def wait_committed(self, sequence: int) -> None:
        """Returns once everything up to there is committed; raises StateLost when it is not."""
        ...


@dataclass(frozen=True, slots=True)
class Correction:
    """Sums of a run that were not what its tasks say; they are now."""

    run: str
    stored: Tally
    counted: Tally


@dataclass(frozen=True, slots=True)
class MachineGames:
    """How many games of a run count that a machine played, by its short name."""

    run: str
    machine: str
    user: str
    games: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a new primary starts from."""

    runs: tuple[tuple[Run, tuple[Task, ...]], ...]
    """Every unfinished run with its active tasks; sums are recomputed from all task rows."""
    blocks: dict[str, str]
    recalled: tuple[MachineHistory, ...]
    corrections: tuple[Correction, ...] = ()
    purging: tuple[Purging, ...] = ()
    """Purges that were due or under way."""
    played: tuple[MachineGames, ...] = ()


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one user's machines with one kind of processor have played of a run."""

    user: str
    arch: str
    machines: int
    results: Results


@dataclass(frozen=True, slots=True)
class WorkerResults:
    """What one process of a worker has played of a run, by the name that people know it by."""

    worker: str
    user: str
    results: Results


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
    hidden: frozenset[str] = frozenset()
    """Engines that the reader may not know of."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a reader of the log may see of it; a stranger, unless more is said."""

    hidden: frozenset[str] = frozenset()
    """Engines that the reader may not know of."""
    teams: frozenset[str] | None = frozenset()
    """Teams that the reader knows of; None: all of them."""
    person: str | None = ""
    """Whose own affairs the reader may see; None: everybody's."""


STRANGER = Sight()


@dataclass(frozen=True, slots=True)
class ChangedRuns:
    """By run the last commit that changed it, up to a commit; not all of them unless complete."""

    sequence: int
    runs: Mapping[str, int]
    complete: bool = True


class Hears(Protocol):
    """Who is told about what was committed."""

    def begin(self, sequence: int) -> None:
        """A new term goes on from this commit, whoever told of the ones before."""
        ...

    def add(self, sequence: int, runs: Iterable[str]) -> None:
        """A commit that changed these runs."""
        ...


# Why the fleet does not answer a call as asked; the docstring of each class is its message.


class UnknownRun(RunFault):
    """there is no run {run}"""


class UnknownTask(RunFault):
    """run {run} has no task {task}"""


class UnknownMachine(RunFault):
    """there is no machine {machine}"""


class NoTune(RunFault):
    """the run tunes no parameters"""


class Rebuilding(Exception):
    """The fleet is being read from the database; nothing can be told until that is done."""
