"""Converts runs and tasks to rows and back without loss.

Some columns of runs and tasks are fixed once a row exists, others change with every result; the
order of the other rows is that of the queries in sql/queries/fleet.sql.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from rookery.core.model.kinds import KINDS, Kind, StoredParts
from rookery.core.model.machine import Machine, long_name
from rookery.core.model.plan import Demands, Plan
from rookery.core.model.run import DecidedBy, Run, Status
from rookery.core.model.task import PlayedBatch, Results, Tally, Task
from rookery.core.model.timecontrol import base_seconds
from rookery.core.stats.residuals import Colour
from rookery.core.stats.sprt import Flag
from rookery.server.db.pool import clean
from rookery.server.farm.columns import Json, part_columns, ticket_of, ticket_text
from rookery.server.farm.packing import array_text
from rookery.server.farm.read_values import Contribution, Grouping, WorkerResults
from rookery.server.farm.row_types import (
    ChangingRunRow,
    ChangingTaskRow,
    FixedRunRow,
    FixedTaskRow,
)
from rookery.server.farm.rules.answers import ChartPoint, MachineBlock, MachineHistory
from rookery.server.farm.rules.observations import chart_place
from rookery.server.farm.rules.purge import BadTask, PurgedTotals, PurgeTarget, Purging

Columns = tuple[object, ...]


class Row(Protocol):
    """A row of a query's result, with columns by name."""

    def __getitem__(self, column: str, /) -> Any: ...


_PLAN: Json[Plan] = Json(Plan)
_DEMANDS: Json[Demands] = Json(Demands)
_MACHINE: Json[Machine] = Json(Machine)


def all_run_columns(run: Run, sequence: int, closed_below: int) -> Columns:
    """All columns of a run."""
    return fixed_run_row(run) + changing_run_row(run, sequence, closed_below)[1:]


def fixed_run_row(run: Run) -> FixedRunRow:
    return FixedRunRow(
        id=run.id,
        created=run.created,
        owner=clean(run.plan.owner),
        engines=array_text(sorted({clean(side.engine) for side in run.plan.sides})),
        tc_base=base_seconds(run.plan.time_control),
        plan=_PLAN.text(run.plan),
        demands=_DEMANDS.text(run.demands),
        kind=run.kind.name,
        rules=part_columns(run.kind.name).rules.text(run.kind.parts.rules),
        reference_nps=run.reference_nps,
        rescheduled_from=run.rescheduled_from,
    )


def changing_run_row(run: Run, sequence: int, closed_below: int) -> ChangingRunRow:
    status, tally = run.status, run.tally
    newcomers = status.decided_by is DecidedBy.NEWCOMERS
    return ChangingRunRow(
        id=run.id,
        updated=run.updated,
        sequence=sequence,
        progress=part_columns(run.kind.name).progress.text(run.kind.parts.progress),
        approver=clean(status.approver),
        finished=status.finished,
        failed=status.failed,
        deleted=status.deleted,
        failures=status.failures,
        flag=status.flag.value,
        # Servers of an earlier version know no such value in the column of the others.
        sole="" if newcomers else status.decided_by.value,
        newcomers=newcomers,
        workers=tally.workers,
        cores=tally.cores,
        committed=tally.committed,
        total=tally.total,
        tasks=tally.tasks,
        **counts(tally.results),
        closed_below=closed_below,
    )


def history_of(kind: Kind, known: int = 0) -> Iterator[tuple[int, str]]:
    """Return the entries of a kind's trail with their positions, from position `known` on."""
    entry, trail = part_columns(kind.name).entry, kind.parts.trail
    return ((place, entry.text(trail[place])) for place in range(known, len(trail)))


def run_of(row: Row, history: Iterable[str] = ()) -> Run:
    columns = part_columns(row["kind"])
    parts = StoredParts(
        columns.rules.value(row["rules"]),
        columns.progress.value(row["progress"]),
        tuple(map(columns.entry.value, history)),
    )
    return Run(
        id=row["id"],
        plan=_PLAN.value(row["plan"]),
        kind=KINDS[row["kind"]].joined(parts),
        demands=_DEMANDS.value(row["demands"]),
        created=row["created"],
        updated=row["updated"],
        status=_status(row),
        tally=_tally(row),
        reference_nps=row["reference_nps"],
        rescheduled_from=row["rescheduled_from"],
    )


def _status(row: Row) -> Status:
    return Status(
        approver=row["approver"],
        finished=row["finished"],
        failed=row["failed"],
        deleted=row["deleted"],
        failures=row["failures"],
        flag=Flag(row["flag"]),
        decided_by=DecidedBy.NEWCOMERS if row["newcomers"] else DecidedBy(row["sole"]),
    )


def _tally(row: Row) -> Tally:
    return Tally(
        workers=row["workers"],
        cores=row["cores"],
        committed=row["committed"],
        total=row["total"],
        tasks=row["tasks"],
        results=results_of(row),
    )


def all_task_columns(task: Task) -> Columns:
    """All columns of a task."""
    fixed = FixedTaskRow(
        run=task.run,
        id=task.id,
        start=task.start,
        games=task.games,
        machine=_MACHINE.text(task.machine),
        created=task.created,
    )
    return fixed + changing_task_row(task)[2:]


def changing_task_row(task: Task) -> ChangingTaskRow:
    return ChangingTaskRow(
        run=task.run,
        id=task.id,
        reported=task.reported,
        **counts(task.results),
        ticket=ticket_text(task.ticket),
        active=task.active,
        bad=task.bad,
        too_fast=task.too_fast,
    )


def task_of(row: Row) -> Task:
    return Task(
        run=row["run"],
        id=row["id"],
        start=row["start"],
        games=row["games"],
        machine=_MACHINE.value(row["machine"]),
        created=row["created"],
        reported=row["reported"],
        results=results_of(row),
        ticket=ticket_of(row["ticket"]),
        active=row["active"],
        bad=row["bad"],
        too_fast=row["too_fast"],
    )


def bad_task(each: BadTask) -> Columns:
    """Return the columns of struck-out results and the reason; the rest is in the task's row."""
    task = each.task
    return (task.run, task.id, *counts(task.results).values(), each.residual, each.colour.value)


def bad_task_of(row: Row) -> BadTask:
    return BadTask(task_of(row), row["residual"], Colour(row["colour"]))


def counts(results: Results) -> dict[str, int]:
    """Return the columns of results by name."""
    p0, p1, p2, p3, p4 = results.pentanomial
    return {
        "wins": results.wins,
        "losses": results.losses,
        "draws": results.draws,
        "crashes": results.crashes,
        "time_losses": results.time_losses,
        "p0": p0,
        "p1": p1,
        "p2": p2,
        "p3": p3,
        "p4": p4,
    }


def results_of(row: Row) -> Results:
    return Results(
        row["wins"],
        row["losses"],
        row["draws"],
        row["crashes"],
        row["time_losses"],
        (row["p0"], row["p1"], row["p2"], row["p3"], row["p4"]),
    )


# Chart points, provenance, purges and machines to rows, and back.

_CULPRIT: Json[PurgeTarget] = Json(PurgeTarget)
_TOLL: Json[PurgedTotals] = Json(PurgedTotals)


def sample_columns(sample: ChartPoint) -> Columns:
    return (
        sample.run,
        chart_place(sample),
        sample.at,
        sample.games,
        *sample.pentanomial,
        sample.llr,
        sample.cores,
        sample.nps,
    )


def sample_of(row: Row) -> ChartPoint:
    pentanomial = (row["p0"], row["p1"], row["p2"], row["p3"], row["p4"])
    results = row["games"], pentanomial, row["llr"]
    return ChartPoint(row["run"], row["at"], *results, row["cores"], row["nps"])


def provenance_columns(each: PlayedBatch) -> Columns:
    return (
        each.run,
        each.task,
        each.at,
        each.games,
        clean(each.runner),
        clean(each.version),
        clean(each.new_hash),
        clean(each.base_hash),
        each.factor,
        each.latency_ms,
    )


def provenance_of(row: Row) -> PlayedBatch:
    return PlayedBatch(**{name: row[name] for name in PlayedBatch.__struct_fields__})


def contribution_of(row: Row) -> Contribution:
    sums = row["all_groups"], row["all_games"]
    return Contribution(Grouping(row["by"]), row["name"], row["machines"], results_of(row), *sums)


def worker_results_of(row: Row) -> WorkerResults:
    user = row["user_name"]
    name = long_name(user, row["cores"], row["key"], modified=row["modified"])
    return WorkerResults(name, user, results_of(row))


def purging_columns(each: Purging) -> Columns:
    culprit = None if each.culprit is None else _CULPRIT.text(each.culprit)
    return each.run, clean(each.actor), each.revive, culprit, _TOLL.text(each.toll)


def purging_of(row: Row) -> Purging:
    culprit = None if row["culprit"] is None else _CULPRIT.value(row["culprit"])
    return Purging(row["run"], row["actor"], row["revive"], culprit, _TOLL.value(row["toll"]))


def block_columns(block: MachineBlock) -> Columns:
    assert block.message is not None
    return clean(block.short_name), clean(block.message), block.at, clean(block.actor)


def recalled_columns(each: MachineHistory) -> Columns:
    return clean(each.short_name), " ".join(each.seen), each.last


def recalled_of(row: Row) -> MachineHistory:
    return MachineHistory(row["short_name"], tuple(row["seen"]), row["last"])
