"""Runs as scripts read them: one Struct, cut to fit a list or a single answer."""

import math
from collections.abc import Iterable
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import asdict, replace

from rookery.model.task import Results
from rookery.protocol.runs import HouseArgs, SprtTask, SpsaMark
from rookery.protocol.user_queries import LiveElo
from rookery.protocol.worker_requests import WorkerInfo
from rookery.stats.spsa import Issued, ParameterSample, Tune
from rookery.stats.spsa_parameters import Parameter, ParameterKind

# A sequential test as documents show it.

State = Literal["", "accepted", "rejected"]


class OvershootDocument(Struct, frozen=True, gc=False, kw_only=True):
    """How far the ratio jumped at its extremes so far."""

    last_update: int
    skipped_updates: int
    ref0: float
    m0: float
    sq0: float
    ref1: float
    m1: float
    sq1: float


class SprtDocument(SprtTask, frozen=True, gc=False, kw_only=True):
    """`args.sprt` in full; exactly one of `overshoot` and `lost_samples` is there."""

    alpha: float
    beta: float
    elo0: float
    elo1: float
    elo_model: str
    state: State
    llr: float
    batch_size: int
    lower_bound: float
    upper_bound: float
    overshoot: OvershootDocument | UnsetType = UNSET
    lost_samples: int | UnsetType = UNSET
    illegal_update: int | UnsetType = UNSET


# A tune as documents show it.


class ParameterDocument(Struct, frozen=True, gc=False, kw_only=True):
    """One parameter; `type` is there for floats only, which fishtest does not have."""

    name: str
    start: float
    min: float
    max: float
    c_end: float
    r_end: float
    c: float
    a_end: float
    a: float
    theta: float
    type: str | UnsetType = UNSET


class SampleDocument(Struct, frozen=True, gc=False):
    """One parameter at one moment."""

    theta: float
    r: float = field(name="R")
    c: float


History = tuple[tuple[SampleDocument, ...], ...]


class SpsaDocument(SpsaMark, frozen=True, gc=False, kw_only=True):
    """`args.spsa` in full; the history is empty in one run's document and absent in lists."""

    algorithm: str = "classic"
    stability: int = field(name="A")
    alpha: float
    gamma: float
    raw_params: str
    iter: int
    num_iter: int
    params: tuple[ParameterDocument, ...]
    param_history: History | UnsetType = UNSET


def spsa_document(
    tune: Tune, raw_params: str, history: History | UnsetType = UNSET
) -> SpsaDocument:
    """The tune in fishtest's words."""
    return SpsaDocument(
        stability=tune.schedule.stability,
        alpha=tune.schedule.alpha,
        gamma=tune.schedule.gamma,
        raw_params=raw_params,
        iter=tune.iteration,
        num_iter=tune.schedule.iterations,
        params=tuple(map(_parameter, tune.parameters, tune.thetas)),
        param_history=history,
    )


def history_of(tune: Tune) -> History:
    """The whole history, for those who draw it."""
    return tuple(tuple(map(_sample, row)) for row in tune.history)


def _parameter(parameter: Parameter, theta: float) -> ParameterDocument:
    line = parameter.line
    return ParameterDocument(
        name=line.name,
        start=line.start,
        min=line.minimum,
        max=line.maximum,
        c_end=line.c_end,
        r_end=line.r_end,
        c=parameter.c,
        a_end=parameter.a_end,
        a=parameter.a,
        theta=theta,
        type=UNSET if line.kind is ParameterKind.INT else line.kind.value,
    )


def _sample(sample: ParameterSample) -> SampleDocument:
    return SampleDocument(sample.theta, sample.r, sample.c)


SCHEMA_VERSION = 24


class ArgsDocument(HouseArgs, frozen=True, gc=False, kw_only=True):
    """What a run's author asked for, and what was found out when it was created."""

    base_tag: str
    new_tag: str
    base_nets: tuple[str, ...]
    new_nets: tuple[str, ...]
    num_games: int
    tc: str
    new_tc: str
    book: str
    book_depth: str
    threads: int
    resolved_base: str
    resolved_new: str
    msg_base: str
    msg_new: str
    base_options: str
    new_options: str
    info: str
    base_signature: str
    new_signature: str
    username: str
    tests_repo: str
    master_repo: str | UnsetType = UNSET
    auto_purge: bool
    throughput: float
    itp: float
    priority: float
    adjudication: bool
    arch_filter: str | UnsetType = UNSET
    compiler: str | UnsetType = UNSET
    sprt: SprtDocument | UnsetType = UNSET
    spsa: SpsaDocument | UnsetType = UNSET


class RunDocument(Struct, frozen=True, gc=False, kw_only=True):
    """A run; dates are texts, and tasks are never listed inside it."""

    id: str = field(name="_id")
    version: int = SCHEMA_VERSION
    start_time: str
    last_updated: str
    tc_base: float
    rescheduled_from: str | UnsetType = UNSET
    approved: bool
    approver: str
    finished: bool
    deleted: bool
    failed: bool
    failures: int
    is_green: bool
    is_yellow: bool
    workers: int
    cores: int
    committed_games: int
    total_games: int
    results: Results
    nps: float
    games_per_minute: float
    args: ArgsDocument
    tasks: tuple[()] | UnsetType = UNSET
    bad_tasks: tuple[()] | UnsetType = UNSET
    elo: LiveElo | UnsetType = UNSET


def listed(runs: Iterable[RunDocument]) -> dict[str, RunDocument]:
    """active_runs and finished_runs: by id, in the order given, without tasks and history."""
    return {run.id: _with_history(run, UNSET) for run in runs}


def single(run: RunDocument, elo: LiveElo | UnsetType = UNSET) -> RunDocument:
    """get_run, and get_elo when the estimate is given: the lists are there, but empty."""
    return replace(_with_history(run, ()), tasks=(), bad_tasks=(), elo=elo)


def _with_history(run: RunDocument, history: tuple[()] | UnsetType) -> RunDocument:
    if run.args.spsa is UNSET:
        return run
    spsa = replace(run.args.spsa, param_history=history)
    return replace(run, args=replace(run.args, spsa=spsa))


# One task as scripts read it, with what is nobody's business taken out.

NO_ADDRESS = "?.?.?.?"
SHOWN_KEY = 8
Colour = Literal["green", "yellow", "red"]


class WorkerDocument(WorkerInfo, frozen=True, gc=False, kw_only=True):
    """The machine that played, without its address and most of its key."""

    remote_addr: str = NO_ADDRESS
    country_code: str = "?"


class IssuedDocument(Struct, frozen=True, gc=False):
    """The flips that are being played, as byte values."""

    iter: int
    packed_flips: tuple[int, ...]


class TaskDocument(Struct, frozen=True, gc=False, kw_only=True):
    """get_task; the last three fields belong to a task whose results were thrown out."""

    num_games: int
    active: bool
    last_updated: str
    start: int
    stats: Results
    worker_info: WorkerDocument
    spsa_params: IssuedDocument | UnsetType = UNSET
    bad: bool | UnsetType = UNSET
    task_id: int | UnsetType = UNSET
    residual: float | Literal["inf"] | UnsetType = UNSET
    residual_color: Colour | UnsetType = UNSET


def masked(info: WorkerInfo, country_code: str = "?") -> WorkerDocument:
    """What a stranger may know of a machine."""
    shown = {**asdict(info), "unique_key": info.unique_key[:SHOWN_KEY] + "..."}
    if info.rookery is not UNSET:
        shown["rookery"] = replace(info.rookery, host="")
    return WorkerDocument(**shown, country_code=country_code)


def issued_document(issued: Issued) -> IssuedDocument:
    """Flips for people to look at."""
    return IssuedDocument(issued.iteration, tuple(issued.packed_flips))


def shown_residual(residual: float) -> float | Literal["inf"]:
    """JSON has no infinity, and a worker with too few games has an infinite residual."""
    return "inf" if math.isinf(residual) else residual


# The server's own quota with GitHub, as rate_limit shows it.


class QuotaDocument(Struct, frozen=True, gc=False, kw_only=True):
    """Calls allowed, left and made, and when the count starts anew (UNIX seconds)."""

    limit: int
    remaining: int
    reset: int
    used: int
    resource: str = "core"
    uninitialized: bool = field(name="_uninitialized")
