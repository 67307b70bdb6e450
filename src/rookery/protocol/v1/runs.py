"""Runs in the JSON API: what they are made and changed by, and how they are shown."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from rookery.core.run import DisplayState, Sole
from rookery.core.stats.flags import Flag
from rookery.protocol.engine_record import EngineRecord
from rookery.protocol.fields import Count, Paragraph, RunId
from rookery.protocol.stats import Stats
from rookery.protocol.user.elo import FixedElo, LiveElo
from rookery.protocol.user.runs import ArgsDocument
from rookery.protocol.v1.fields import Number
from rookery.protocol.v1.pages import PageOf


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
    """The machines at play or waiting that could play a run, and how long they would take
    together."""

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
    """A run as lists show it; `llr` is there for sequential tests, `decided_by` where nearly all
    results are from one machine, or from one user though others have machines, too."""

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
    decided_by: Sole | UnsetType = UNSET
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
    new_record: EngineRecord | UnsetType = UNSET
    base_record: EngineRecord | UnsetType = UNSET
    records: str = ""
    """What tells these records from others: who approves the run says by it what they saw."""


class RunMark(Struct, frozen=True, kw_only=True):
    """That a run has changed."""

    id: RunId
    state: DisplayState


class RunList(PageOf, frozen=True, kw_only=True):
    """A page of runs, newest first."""

    runs: tuple[RunSummary, ...]


class ModifyBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change; what is left out stays as it is."""

    num_games: Count | UnsetType = UNSET
    priority: Number | UnsetType = UNSET
    throughput: Annotated[int, Meta(ge=1, le=1000)] | UnsetType = UNSET
    auto_purge: bool | UnsetType = UNSET
    info: Paragraph | UnsetType = UNSET


class ApproveBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `records` of the run as the approver saw it; needed where an engine's record has changed
    since the run was submitted."""

    records: Annotated[str, Meta(max_length=64)] = ""


class StopBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a run is stopped, if anybody wants to know."""

    message: Annotated[str, Meta(max_length=5000)] = ""


class PurgeAnswer(Struct, frozen=True, kw_only=True):
    """What a purge took out; that of a very large run is answered while it is under way, and the
    log of actions says what came of it."""

    run: RunSummary
    tasks: int
    games: int
    workers: tuple[str, ...]
    under_way: bool = False
