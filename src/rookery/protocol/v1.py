"""What the JSON API takes and gives; the server encodes these, our client decodes them."""

import enum
from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from rookery.core.run import DisplayState
from rookery.core.stats.flags import Flag
from rookery.protocol.engine_record import EngineRecord
from rookery.protocol.fields import Count, Paragraph, RunId
from rookery.protocol.stats import Stats
from rookery.protocol.user.elo import FixedElo, LiveElo
from rookery.protocol.user.runs import ArgsDocument

Number = Annotated[int, Meta(ge=-1_000_000, le=1_000_000)]
Page = Annotated[int, Meta(ge=1, le=10_000_000)]
PageSize = Annotated[int, Meta(ge=1, le=200)]
Sequence = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Name = Annotated[str, Meta(min_length=1, max_length=100)]

BookName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,150}\.(epd|pgn)\Z")]


class ListedState(enum.StrEnum):
    """Which runs a list shows."""

    UNFINISHED = "unfinished"
    PENDING = "pending"
    PAUSED = "paused"
    ACTIVE = "active"
    FINISHED = "finished"


class HouseStyle(enum.StrEnum):
    """In whose words a result is told."""

    FISHTEST = "fishtest"
    OPENBENCH = "openbench"


class Made(Struct, frozen=True, kw_only=True):
    """A new run; warnings say what is legal but seldom meant."""

    id: RunId
    state: DisplayState
    warnings: tuple[str, ...] = ()


class ExpectedLength(Struct, frozen=True, kw_only=True):
    """How a sequential test goes if the new version is worth `elo`: eight of ten end between the
    early and the late number of games."""

    elo: float
    pass_chance: float
    mean_games: float
    early_games: float
    late_games: float


class FleetNow(Struct, frozen=True, kw_only=True):
    """The machines at play that could play a run, and how long they would take together."""

    machines: int
    cores: int
    hours: float | UnsetType = UNSET


class Preview(Struct, frozen=True, kw_only=True):
    """A run that was not made: what it would be, how long it should take, and what it costs."""

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
    """A run as lists show it; `llr` is there for sequential tests."""

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
    results: Stats
    llr: float | UnsetType = UNSET
    info: str = ""


class RunDetails(RunSummary, frozen=True, kw_only=True):
    """All about a run but its tasks; `elo` is there once games were played, but not for tunes."""

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


class RunMark(Struct, frozen=True, kw_only=True):
    """That a run has changed."""

    id: RunId
    state: DisplayState


class RunList(Struct, frozen=True, kw_only=True):
    """A page of runs, newest first."""

    runs: tuple[RunSummary, ...]
    page: int
    more: bool


class ModifyBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change; what is left out stays as it is."""

    num_games: Count | UnsetType = UNSET
    priority: Number | UnsetType = UNSET
    throughput: Annotated[int, Meta(ge=1, le=1000)] | UnsetType = UNSET
    auto_purge: bool | UnsetType = UNSET
    info: Paragraph | UnsetType = UNSET


class StopBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a run is stopped, if anybody wants to know."""

    message: Annotated[str, Meta(max_length=5000)] = ""


class Uploaded(Struct, frozen=True, kw_only=True):
    """A file that is kept, under the hash of its bytes."""

    sha256: str
    size: int


class BookEntry(Struct, frozen=True, kw_only=True):
    """A book; one that is not kept here is official, and workers fetch it elsewhere."""

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
    """All books, those that are kept here first."""

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


class PurgeAnswer(Struct, frozen=True, kw_only=True):
    """What a purge took out."""

    run: RunSummary
    tasks: int
    games: int
    workers: tuple[str, ...]


class TaskEntry(Struct, frozen=True, kw_only=True):
    """A task as lists show it."""

    run: RunId
    id: int
    worker: str
    user: str
    active: bool
    bad: bool
    start: int
    num_games: int
    created: datetime
    reported: datetime
    results: Stats


class TaskList(Struct, frozen=True, kw_only=True):
    """A page of tasks, in the order of their numbers."""

    tasks: tuple[TaskEntry, ...]
    page: int
    more: bool


class WorkerEntry(Struct, frozen=True, kw_only=True):
    """A machine at play, without its address and its key; or one that is blocked."""

    name: str
    user: str
    blocked: bool = False
    message: str = ""
    cores: int = 0
    memory: int = 0
    arch: str = ""
    compiler: str = ""
    nps: float = 0.0
    country: str = "?"
    modified: bool = False
    run: str | UnsetType = UNSET
    task: int | UnsetType = UNSET
    reported: datetime | UnsetType = UNSET


class WorkerList(Struct, frozen=True, kw_only=True):
    """All machines at play and all that are blocked, by name."""

    workers: tuple[WorkerEntry, ...]


class ActionEntry(Struct, frozen=True, kw_only=True):
    """A line of the log."""

    id: str
    time: datetime
    action: str
    actor: str
    run: str | UnsetType = UNSET
    run_name: str | UnsetType = UNSET
    task: int | UnsetType = UNSET
    worker: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    user: str | UnsetType = UNSET
    net: str | UnsetType = UNSET


class ActionList(Struct, frozen=True, kw_only=True):
    """The latest actions, newest first."""

    actions: tuple[ActionEntry, ...]


class GameEntry(Struct, frozen=True, kw_only=True):
    """A game of a task, as its upload tells it; equal openings have equal digests."""

    number: int
    outcome: str
    ending: str
    new_is_white: bool
    plies: int
    opening: str


class GameList(Struct, frozen=True, kw_only=True):
    """The games of a task in the order of their uploads; a page of them."""

    games: tuple[GameEntry, ...]
    page: int
    more: bool


class LogEntry(Struct, frozen=True, kw_only=True):
    """A log that a worker sent along with a call."""

    id: int
    run: RunId
    task: int
    call: str
    worker: str
    time: datetime
    size: int


class LogList(Struct, frozen=True, kw_only=True):
    """A page of the logs of a run, newest first."""

    logs: tuple[LogEntry, ...]
    page: int
    more: bool


class ContributorEntry(Struct, frozen=True, kw_only=True):
    """What a user's machines gave to runs that are over, how fast they play now, and how many
    tests the user submitted."""

    user: str
    games: int
    core_hours: float
    tests: int
    games_per_hour: float
    last: datetime | UnsetType = UNSET


class ContributorList(Struct, frozen=True, kw_only=True):
    """A page of contributors, those who gave most first."""

    contributors: tuple[ContributorEntry, ...]
    page: int
    more: bool


class EngineList(Struct, frozen=True, kw_only=True):
    """All engines known here, by name."""

    engines: tuple[EngineRecord, ...]
