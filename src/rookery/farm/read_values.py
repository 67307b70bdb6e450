"""The values that reads of the fleet's rows (`reads`) take and return."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rookery.model.run import Run
from rookery.model.task import Results, Tally, Task
from rookery.rules.answers import MachineHistory
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
class ChangedRuns:
    """Runs with the number of the last commit that changed each, up to commit `sequence`. Not
    `complete` where more have changed than are listed."""

    sequence: int
    runs: Mapping[str, int]
    complete: bool = True
