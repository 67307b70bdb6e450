"""Who plays what in the JSON API: tasks, machines, contributors, and the log of actions."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from rookery.protocol.fields import RunId
from rookery.protocol.stats import Stats
from rookery.protocol.v1.pages import PageOf


class TaskEntry(Struct, frozen=True, kw_only=True):
    """A task as lists show it. `kept_apart` is what it reported faster than games can be played,
    which counts nowhere."""

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
    results: Stats
    kept_apart: Stats | UnsetType = UNSET


class TaskList(PageOf, frozen=True, kw_only=True):
    """A page of tasks, in the order of their numbers."""

    tasks: tuple[TaskEntry, ...]


class WorkerEntry(Struct, frozen=True, kw_only=True):
    """A machine at play, without its address and its key; or one that is blocked. The processor's
    name is known of Rookery's own workers alone."""

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
    """A machine with its last words: what the log has of it, newest first. `asked` is when it last
    asked for a task."""

    words: tuple["ActionEntry", ...]
    asked: datetime | UnsetType = UNSET


class BlockBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a machine is blocked; the machine, its owner and approvers are told."""

    message: Annotated[str, Meta(min_length=1, max_length=500)]


class WorkerList(Struct, frozen=True, kw_only=True):
    """All machines at play and all that are blocked, by name."""

    workers: tuple[WorkerEntry, ...]


class ContributorEntry(Struct, frozen=True, kw_only=True):
    """What a user's machines gave to runs that are over, how fast they play now, and how many
    tests the user submitted."""

    user: str
    games: int
    core_hours: float
    tests: int
    games_per_hour: float
    last: datetime | UnsetType = UNSET


class ContributorList(PageOf, frozen=True, kw_only=True):
    """A page of contributors, those who gave most first."""

    contributors: tuple[ContributorEntry, ...]


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
    engine: str | UnsetType = UNSET
    team: str | UnsetType = UNSET


class ActionList(Struct, frozen=True, kw_only=True):
    """The latest actions, newest first."""

    actions: tuple[ActionEntry, ...]
