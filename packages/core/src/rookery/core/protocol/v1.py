"""The bodies and answers of the JSON API: tasks, machines, files, engines and runs."""

import enum
from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from rookery.core.model.bounds import Count, RunId
from rookery.core.model.engine import EngineRecord
from rookery.core.model.events import Event
from rookery.core.model.machine import SHORT_NAME
from rookery.core.model.run import DecidedBy, DisplayState
from rookery.core.model.task import Results
from rookery.core.protocol.codec import Reader
from rookery.core.protocol.user_documents import ArgsDocument
from rookery.core.protocol.user_queries import FixedElo, LiveElo
from rookery.core.stats.sprt import Flag


class PageOf(Struct, frozen=True, kw_only=True):
    """A page of a list: its number, and whether there is another one after it."""

    page: int
    more: bool


LARGEST_RECORD = 2**20
ENGINE_RECORD = Reader(EngineRecord, most_bytes=LARGEST_RECORD)


# Tasks, machines, contributors, and the log of actions in the JSON API.


class TaskEntry(Struct, frozen=True, kw_only=True):
    """A task in a list. `kept_apart` are results that were reported faster than games can be
    played; they do not count."""

    run: RunId
    id: int
    worker: str
    user: str
    active: bool
    bad: bool
    too_fast: bool
    start: int
    num_games: int
    created: datetime
    reported: datetime
    seen: datetime | UnsetType = UNSET
    results: Results
    kept_apart: Results | UnsetType = UNSET


class TaskList(PageOf, frozen=True, kw_only=True):
    """A page of tasks, in the order of their numbers."""

    tasks: tuple[TaskEntry, ...]


class WorkerEntry(Struct, frozen=True, kw_only=True):
    """A machine that has a task or is blocked, without its address and key. Only Rookery's own
    workers report the processor's name."""

    name: str
    user: str
    blocked: bool = False
    message: str = ""
    cores: int = 0
    memory: int = 0
    arch: str = ""
    compiler: str = ""
    cpu: str = ""
    system: str = ""
    nps: float = 0.0
    country: str = "?"
    modified: bool = False
    run: str | UnsetType = UNSET
    task: int | UnsetType = UNSET
    reported: datetime | UnsetType = UNSET


class WorkerDetails(WorkerEntry, frozen=True, kw_only=True):
    """A machine with its latest entries in the log of actions, newest first. `asked` is when it
    last asked for a task."""

    words: tuple[Event, ...]
    asked: datetime | UnsetType = UNSET


class BlockBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a machine is blocked; shown to the machine, its owner and approvers."""

    message: Annotated[str, Meta(min_length=1, max_length=500)]


class WorkerList(Struct, frozen=True, kw_only=True):
    """All machines that have a task or are blocked, by name."""

    workers: tuple[WorkerEntry, ...]


class ContributorEntry(Struct, frozen=True, kw_only=True):
    """A user's contribution to finished runs, the present speed of their machines, and the number
    of tests they submitted."""

    user: str
    games: int
    core_hours: float
    tests: int
    games_per_hour: float
    last: datetime | UnsetType = UNSET


class ContributorList(PageOf, frozen=True, kw_only=True):
    """A page of contributors, those with the most core hours first."""

    contributors: tuple[ContributorEntry, ...]


class ActionList(Struct, frozen=True, kw_only=True):
    """The latest actions, newest first."""

    actions: tuple[Event, ...]


Page = Annotated[int, Meta(ge=1, le=10_000_000)]
PageSize = Annotated[int, Meta(ge=1, le=200)]
Sequence = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Name = Annotated[str, Meta(min_length=1, max_length=100)]
MachineName = Annotated[str, Meta(pattern=rf"^{SHORT_NAME.pattern}\Z")]
BookName = Annotated[
    str,
    Meta(
        pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{1,49}~)?[A-Za-z0-9][A-Za-z0-9_.+-]{0,150}\.(epd|pgn)\Z"
    ),
]


class ListedState(enum.StrEnum):
    """The state of the runs in a list."""

    UNFINISHED = "unfinished"
    PENDING = "pending"
    PAUSED = "paused"
    ACTIVE = "active"
    FINISHED = "finished"


class SummaryStyle(enum.StrEnum):
    """Whose format the summary of a result has."""

    FISHTEST = "fishtest"
    OPENBENCH = "openbench"


class UploadedFile(Struct, frozen=True, kw_only=True):
    """An uploaded file, by the hash of its bytes."""

    sha256: str
    size: int


class BookEntry(Struct, frozen=True, kw_only=True):
    """A book; one that is not stored here is official, and workers fetch it elsewhere."""

    name: str
    openings: int
    sri: str
    official: bool
    kept: bool
    size: int | UnsetType = UNSET
    sha256: str | UnsetType = UNSET
    user: str | UnsetType = UNSET
    created: datetime | UnsetType = UNSET


class BookList(Struct, frozen=True, kw_only=True):
    """All books, those that are stored here first."""

    books: tuple[BookEntry, ...]


class NetEntry(Struct, frozen=True, kw_only=True):
    """A net; `size` is that of the gzip stream that is sent."""

    name: str
    size: int
    user: str
    created: datetime
    downloads: int


class NetList(Struct, frozen=True, kw_only=True):
    """All nets, newest first."""

    nets: tuple[NetEntry, ...]


class EngineVersion(Struct, frozen=True, kw_only=True):
    """A record with who wrote it when; a removed engine is known to its old runs only. Versions
    are numbered from 1 on as they are stored."""

    version: int = 0
    changed: datetime
    changed_by: str
    removed: bool = False
    record: EngineRecord


class EngineVersions(Struct, frozen=True, kw_only=True):
    """All versions of an engine's record, the oldest first."""

    versions: tuple[EngineVersion, ...]


class RestoreBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The version of an engine's record to restore; 0 is the state before the first one."""

    version: Count


class EngineList(Struct, frozen=True, kw_only=True):
    """All engines, by name."""

    engines: tuple[EngineRecord, ...]


# Runs in the JSON API: requests that create and change them, and how they are shown.


class CreatedRun(Struct, frozen=True, kw_only=True):
    """A new run; warnings name what is legal but probably not meant."""

    id: RunId
    state: DisplayState
    warnings: tuple[str, ...] = ()


class ExpectedLength(Struct, frozen=True, kw_only=True):
    """The expected length of a sequential test whose new version is `elo` stronger: eight of ten
    end between `early_games` and `late_games`."""

    elo: float
    pass_chance: float
    mean_games: float
    early_games: float
    late_games: float


class FleetNow(Struct, frozen=True, kw_only=True):
    """The machines, playing or waiting, that could play a run, and the hours they would need
    together."""

    machines: int
    cores: int
    hours: float | UnsetType = UNSET


class Preview(Struct, frozen=True, kw_only=True):
    """A preview of a submission: the run it would create, its expected length and its cost."""

    name: str
    kind: str
    games: float
    lengths: tuple[ExpectedLength, ...]
    core_hours: float
    fleet: FleetNow
    needs: tuple[str, ...]
    warnings: tuple[str, ...]
    args: ArgsDocument


class RunSummary(Struct, frozen=True, kw_only=True):
    """A run in a list. `llr` is there for sequential tests, `decided_by` where nearly all results
    are from one machine or from one of several users, or half of them from newcomers."""

    id: RunId
    name: str
    state: DisplayState
    deleted: bool
    flag: Flag
    kind: str
    owner: str
    approver: str
    created: datetime
    updated: datetime
    new_tag: str
    base_tag: str
    tc: str
    threads: int
    priority: int
    throughput: int
    num_games: int
    workers: int
    cores: int
    results: Results
    llr: float | UnsetType = UNSET
    decided_by: DecidedBy | UnsetType = UNSET
    info: str = ""


class RunDetails(RunSummary, frozen=True, kw_only=True):
    """A run without its tasks; `elo` is there once games were played, but not for tunes."""

    failures: int
    committed_games: int
    total_games: int
    tasks: int
    nps: float
    games_per_minute: float
    needs: tuple[str, ...]
    args: ArgsDocument
    elo: FixedElo | UnsetType = UNSET
    live_elo: LiveElo | UnsetType = UNSET
    rescheduled_from: str | UnsetType = UNSET
    new_record: EngineRecord | UnsetType = UNSET
    base_record: EngineRecord | UnsetType = UNSET
    records: str = ""
    """A digest of the engines' records, which an approval sends back to say what was approved."""


class RunMark(Struct, frozen=True, kw_only=True):
    """A notice that a run has changed."""

    id: RunId
    state: DisplayState


class RunList(PageOf, frozen=True, kw_only=True):
    """A page of runs, newest first."""

    runs: tuple[RunSummary, ...]


class ServerEntry(Struct, frozen=True, kw_only=True):
    """The state of a server. `time` is its clock; `backup_age_seconds` is missing where there is
    no backup."""

    version: str
    role: str
    time: datetime
    sign_up: bool
    disk_free_bytes: int
    disk_reserve_bytes: int
    other_servers: int
    database_up: bool
    backup_age_seconds: float | None = None


class ApproveBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `records` of the run as the approver saw it; needed where an engine's record has changed
    since the run was submitted."""

    records: Annotated[str, Meta(max_length=64)] = ""


class StopBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a run is stopped; may be empty."""

    message: Annotated[str, Meta(max_length=5000)] = ""


class PurgeAnswer(Struct, frozen=True, kw_only=True):
    """What a purge removed. The purge of a very large run is answered while it is under way, and
    its result is in the log of actions."""

    run: RunSummary
    tasks: int
    games: int
    workers: tuple[str, ...]
    under_way: bool = False
