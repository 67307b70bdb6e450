"""What the fleet needs of a store: one group commit, and reads of what was committed."""

from asyncio import Future
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from rookery.boundary.watch import Histogram
from rookery.model.events import Event
from rookery.model.run import Run, RunFault
from rookery.model.task import PlayedBatch, Results, Tally, Task
from rookery.protocol.actions import MOST_ACTIONS, Expression
from rookery.rules.answers import Changes, ChartPoint, MachineHistory
from rookery.rules.purge import BadTask, Purging

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


class FleetReads(Protocol):
    """Reads of committed rows."""

    async def snapshot(self) -> Snapshot:
        """Everything a primary starts from; to be read once the fence is taken."""
        ...

    async def run(self, run_id: str) -> Run | None: ...

    async def task(self, run_id: str, task_id: int) -> Task | None: ...

    async def tasks(self, run_id: str) -> tuple[Task, ...]:
        """All tasks of a run, in the order of their numbers."""
        ...

    async def agrees(self, run_id: str) -> bool:
        """Whether the sums of a run are what its tasks say, both as they are at one moment."""
        ...

    async def task_page(self, run_id: str, first: int, count: int) -> tuple[Task, ...]:
        """Tasks of a run from a number on, as many as there are up to a count."""
        ...

    async def ids_from(self, prefix: str, limit: int, hidden: Collection[str]) -> tuple[str, ...]:
        """Ids of runs that begin so, newest first, but for those of hidden engines."""
        ...

    async def finished(self, query: FinishedRunsQuery) -> tuple[Run, ...]:
        """A page of a list; what a tune's values were on the way is left out."""
        ...

    async def bad_tasks(
        self, run_id: str, first: int = 0, count: int = EVERYTHING
    ) -> tuple[BadTask, ...]:
        """Tasks as they were before their results were struck out, in the order of the purges."""
        ...

    async def tasks_apart(self, run_id: str, limit: int) -> tuple[BadTask, ...]:
        """Tasks with what they reported faster than games can be played, the latest first."""
        ...

    async def last_seen(
        self, run_id: str, first: int = 0, count: int = EVERYTHING
    ) -> dict[int, datetime]:
        """When the tasks of a run from a number on gave a sign of life, as far as is known."""
        ...

    async def events(self, limit: int, before: datetime | None = None) -> Sequence[Event]:
        """What happened to runs and tasks, newest first."""
        ...

    async def actions(
        self,
        wanted: Expression,
        *,
        limit: int = MOST_ACTIONS,
        sight: Sight = STRANGER,
    ) -> tuple[Event, ...]:
        """The log as scripts read it, newest first, without what the reader may not see."""
        ...

    async def samples(self, run_id: str) -> tuple[ChartPoint, ...]:
        """The points of a run's charts, in order."""
        ...

    async def samples_at(self, runs: Collection[str], at: datetime) -> dict[str, ChartPoint]:
        """Of each run the last point up to then, or its first where it is younger."""
        ...

    async def contributions(self, run_id: str, limit: int) -> tuple[Contribution, ...]:
        """Who played a run, those with the most games first; what was struck out is left out."""
        ...

    async def finished_since(self, at: datetime, hidden: Collection[str] = ()) -> int:
        """How many runs have ended since then."""
        ...

    async def results_by_worker(self, run_id: str, limit: int) -> tuple[WorkerResults, ...]:
        """The same by worker."""
        ...

    async def provenance(
        self, run_id: str, first: int = 0, count: int = EVERYTHING
    ) -> tuple[PlayedBatch, ...]:
        """How the batches of a run were played, in the order they came in."""
        ...

    async def changed(self, after: int, most: int) -> ChangedRuns:
        """The runs that commits after this one changed, the latest of them."""
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
