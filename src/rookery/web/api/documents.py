"""Runs and tasks as fishtest's documents, which scripts have read for years."""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from rookery.core.purge import BadTask
from rookery.core.run import Run
from rookery.core.spsa import Issued
from rookery.core.stats.flags import Flag
from rookery.core.task import Task
from rookery.core.timecontrol import base_seconds
from rookery.protocol.dates import rendered
from rookery.protocol.decoding import Reader
from rookery.protocol.encoding import finite
from rookery.protocol.faults import WireFault
from rookery.protocol.stats import stats_of
from rookery.protocol.user.runs import ArgsDocument, RunDocument
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
from rookery.web.api.kind_documents import sprt_of, spsa_of
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
        "sprt": sprt_of(run),
        "spsa": spsa_of(run),
    }


_SHARED = frozenset(ArgsDocument.__struct_fields__) - {
    "auto_purge", "throughput", "itp", "priority", "sprt", "spsa",
}  # fmt: skip


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
