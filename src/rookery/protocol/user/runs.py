"""Runs as scripts read them: one Struct, cut to fit a list or a single answer."""

from collections.abc import Iterable

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from rookery.protocol.run_args import HouseArgs
from rookery.protocol.stats import Stats
from rookery.protocol.user.elo import LiveElo
from rookery.protocol.user.sprt import SprtDocument
from rookery.protocol.user.spsa import SpsaDocument

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
    results: Stats
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
