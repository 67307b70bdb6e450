"""Runs and tasks as fishtest's documents, which scripts have read for years (contract 7)."""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from rookery.core.kinds import SprtTest, SpsaTuning
from rookery.core.purge import BadTask
from rookery.core.run import Run
from rookery.core.spsa import Issued, Tune, as_lines
from rookery.core.stats.flags import Flag
from rookery.core.task import Task
from rookery.core.timecontrol import base_seconds
from rookery.protocol.dates import rendered
from rookery.protocol.decoding import Reader
from rookery.protocol.encoding import finite
from rookery.protocol.faults import WireFault
from rookery.protocol.stats import stats_of
from rookery.protocol.user.runs import ArgsDocument, RunDocument
from rookery.protocol.user.sprt import OvershootDocument, SprtDocument
from rookery.protocol.user.spsa import SpsaDocument, spsa_document
from rookery.protocol.user.tasks import (
    IssuedDocument,
    TaskDocument,
    WorkerDocument,
    issued_document,
    masked,
    shown_residual,
)
from rookery.protocol.worker.machine import WorkerInfo
from rookery.service.fleet.views import STILL, Pulse
from rookery.web.api.worker.outgoing import args_of

_INFO = Reader(WorkerInfo)


def run_document(run: Run, pulse: Pulse = STILL) -> RunDocument:
    status, tally = run.status, run.tally
    return RunDocument(
        id=run.id,
        start_time=rendered(run.created),
        last_updated=rendered(run.updated),
        tc_base=base_seconds(run.plan.tc),
        rescheduled_from=run.rescheduled_from or UNSET,
        approved=status.approved,
        approver=status.approver,
        finished=status.finished,
        deleted=status.deleted,
        failed=status.failed,
        failures=status.failures,
        is_green=status.flag is Flag.GREEN,
        is_yellow=status.flag is Flag.YELLOW,
        workers=tally.workers,
        cores=tally.cores,
        committed_games=tally.committed,
        total_games=tally.total,
        results=stats_of(tally.results),
        nps=finite(pulse.nps),
        games_per_minute=finite(pulse.games_per_minute),
        args=args_document(run),
    )


def args_document(run: Run) -> ArgsDocument:
    """What a worker is told, and what only people want to know."""
    told = {name: value for name, value in asdict(args_of(run)).items() if name in _SHARED}
    return ArgsDocument(**told, **_for_people(run))


def _for_people(run: Run) -> Mapping[str, Any]:
    plan = run.plan
    return {
        "auto_purge": plan.auto_purge,
        "throughput": plan.throughput,
        "itp": finite(run.share),
        "priority": plan.priority,
        "arch_filter": plan.wishes.arch_filter or UNSET,
        "compiler": plan.wishes.compiler or UNSET,
        "master_repo": plan.master_repo or UNSET,
        "sprt": _sprt(run),
        "spsa": _spsa(run),
    }


_SHARED = frozenset(ArgsDocument.__struct_fields__) - {
    "auto_purge", "throughput", "itp", "priority", "sprt", "spsa",
}  # fmt: skip


def _sprt(run: Run) -> SprtDocument | UnsetType:
    kind = run.kind
    if not isinstance(kind, SprtTest):
        return UNSET
    spec, state = kind.spec, kind.state
    return SprtDocument(
        alpha=spec.alpha,
        beta=spec.beta,
        elo0=spec.elo0,
        elo1=spec.elo1,
        elo_model=spec.model.value,
        state=state.verdict.value,
        llr=finite(state.llr),
        batch_size=spec.batch_size,
        lower_bound=spec.lower,
        upper_bound=spec.upper,
        overshoot=_overshoot(kind),
        lost_samples=state.lost_samples if state.overshoot is None else UNSET,
        illegal_update=UNSET if state.illegal_update is None else state.illegal_update,
    )


def _overshoot(kind: SprtTest) -> OvershootDocument | UnsetType:
    found = kind.state.overshoot
    if found is None:
        return UNSET
    return OvershootDocument(
        last_update=found.last_update,
        skipped_updates=found.skipped_updates,
        ref0=found.ref0,
        m0=found.m0,
        sq0=found.sq0,
        ref1=found.ref1,
        m1=found.m1,
        sq1=found.sq1,
    )


def _spsa(run: Run) -> SpsaDocument | UnsetType:
    if not isinstance(run.kind, SpsaTuning):
        return UNSET
    tune = run.kind.tune
    return spsa_document(tune, raw_parameters(tune))


def raw_parameters(tune: Tune) -> str:
    """The lines that the tune was made from, in one form."""
    return "\n".join(as_lines(tune, [parameter.line.start for parameter in tune.parameters]))


def task_document(task: Task, bad: BadTask | None = None) -> TaskDocument:
    """get_task; a bad task shows what it was before, and why it was thrown out."""
    return TaskDocument(
        num_games=task.games,
        active=task.active,
        last_updated=rendered(task.reported),
        start=task.start,
        stats=stats_of(task.results),
        worker_info=worker_document(task),
        spsa_params=_issued(task),
        bad=True if task.bad or bad else UNSET,
        task_id=task.id if bad else UNSET,
        residual=shown_residual(bad.residual) if bad else UNSET,
        residual_color=bad.colour.value if bad else UNSET,
    )


def worker_document(task: Task) -> WorkerDocument:
    """The machine's own words, without its address and most of its key."""
    machine = task.machine
    try:
        info = _INFO.read(machine.details.encode())
    except WireFault:
        info = _known_of(task)
    return masked(info, machine.country)


def _known_of(task: Task) -> WorkerInfo:
    """What Rookery keeps of a machine whose own words were not kept."""
    machine = task.machine
    return WorkerInfo(
        uname="",
        architecture=("", ""),
        concurrency=machine.cores,
        max_memory=machine.memory,
        min_threads=machine.min_threads,
        username=machine.user,
        version=0,
        python_version=(0, 0, 0),
        gcc_version=(0, 0, 0),
        compiler=machine.compiler,
        unique_key=machine.key,
        modified=machine.modified,
        worker_arch=machine.arch,
        arch="?",
        nps=machine.nps,
        near_github_api_limit=machine.near_api_limit,
    )


def _issued(task: Task) -> IssuedDocument | UnsetType:
    ticket = task.ticket
    if not isinstance(ticket, tuple) or not ticket or not isinstance(ticket[0], Issued):
        return UNSET
    return issued_document(ticket[0])
