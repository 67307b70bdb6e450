"""Runs, tasks and Elo estimates in the formats of fishtest, which existing scripts read."""

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.core.model.timecontrol import base_seconds
from rookery.core.protocol.codec import format_time, to_finite
from rookery.core.protocol.user_documents import (
    IssuedDocument,
    RunDocument,
    TaskDocument,
    args_document,
    format_residual,
    issued_document,
    mask_worker,
)
from rookery.core.protocol.user_queries import EloQuery, FixedElo, LiveElo
from rookery.core.stats.elo import estimate_elo, live_elo
from rookery.core.stats.sprt import Flag, Sprt
from rookery.server.farm.rules.purge import BadTask
from rookery.server.farm.views import NO_SPEED, RunSpeed


def run_document(
    run: Run,
    speed: RunSpeed = NO_SPEED,
    *,
    alone: bool = False,
    elo: LiveElo | UnsetType = UNSET,
) -> RunDocument:
    """A run. In a list it has neither tasks nor the history of a tune; alone it has both, but
    empty."""
    status, tally = run.status, run.tally
    return RunDocument(
        id=run.id,
        start_time=format_time(run.created),
        last_updated=format_time(run.updated),
        tc_base=base_seconds(run.plan.time_control),
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
        results=tally.results,
        nps=to_finite(speed.nps),
        games_per_minute=to_finite(speed.games_per_minute),
        args=args_document(run, () if alone else UNSET),
        tasks=() if alone else UNSET,
        bad_tasks=() if alone else UNSET,
        elo=elo,
    )


def task_document(task: Task, bad: BadTask | None = None) -> TaskDocument:
    """A task as get_task shows it. A bad task shows its earlier state, and why it was removed."""
    return TaskDocument(
        num_games=task.games,
        active=task.active,
        last_updated=format_time(task.reported),
        start=task.start,
        stats=task.results,
        worker_info=mask_worker(task.machine, task.machine.country),
        spsa_params=_issued(task),
        bad=True if task.bad or bad else UNSET,
        task_id=task.id if bad else UNSET,
        residual=format_residual(bad.residual) if bad else UNSET,
        residual_color=bad.colour.value if bad else UNSET,
    )


def _issued(task: Task) -> IssuedDocument | UnsetType:
    return issued_document(task.ticket[0]) if task.ticket else UNSET


# Elo estimates as answers carry them. Each takes some hundred microseconds: call in a thread.


def elo_of_query(query: EloQuery) -> FixedElo | LiveElo:
    """The estimate for a query of calc_elo."""
    if query.bounds is None:
        return fixed_elo(query.bins)
    return sequential_elo(query.bounds, query.bins)


def fixed_elo(bins: Sequence[int]) -> FixedElo:
    found = estimate_elo(bins)
    return FixedElo(
        elo=to_finite(found.elo),
        ci=(to_finite(found.low), to_finite(found.high)),
        los=to_finite(found.los),
    )


def sequential_elo(
    spec: Sprt, bins: Sequence[int], trinomial: Sequence[int] | None = None
) -> LiveElo:
    found = live_elo(spec, bins, trinomial)
    return LiveElo(
        a=found.lower_bound,
        b=found.upper_bound,
        elo=to_finite(found.elo),
        ci=(to_finite(found.low), to_finite(found.high)),
        los=to_finite(found.los),
        llr=to_finite(found.llr),
    )


def live_elo_of(run: Run) -> LiveElo | None:
    """The estimate of a sequential test, also before its first game; None for other kinds of
    runs."""
    if run.kind.hypotheses is None:
        return None
    results = run.tally.results
    return sequential_elo(run.kind.hypotheses, results.pentanomial, results.trinomial)
