"""Runs, tasks, machines, actions and users as the JSON API shows them.

None of it holds an e-mail address, a network address or a worker's key.
"""

from collections.abc import Mapping

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from rookery.farm.engines import record_of, records_digest
from rookery.farm.statistics_rows import Contributor
from rookery.farm.views import RunSpeed
from rookery.model.engine import EngineRecord
from rookery.model.events import run_name
from rookery.model.kinds import SprtTest, SpsaTuning
from rookery.model.plan import Side
from rookery.model.run import Run
from rookery.model.task import Results, Task
from rookery.people.users import User, is_approver
from rookery.protocol import people, v1
from rookery.protocol.codec import finite
from rookery.protocol.user_documents import args_document
from rookery.protocol.user_queries import FixedElo
from rookery.rules.purge import Purged
from rookery.web.documents import fixed_elo, live_elo_of


def summary_of(run: Run) -> v1.RunSummary:
    plan, status, tally = run.plan, run.status, run.tally
    kind = run.kind
    return v1.RunSummary(
        id=run.id,
        name=run_name(run),
        state=run.display,
        deleted=status.deleted,
        flag=status.flag,
        kind=kind.name,
        owner=plan.owner,
        approver=status.approver,
        created=run.created,
        updated=run.updated,
        new_tag=plan.sides[0].tag,
        base_tag=plan.sides[1].tag,
        tc=plan.tc,
        threads=plan.threads,
        priority=plan.priority,
        throughput=plan.throughput,
        num_games=plan.games,
        workers=tally.workers,
        cores=tally.cores,
        results=tally.results,
        llr=finite(kind.state.llr) if isinstance(kind, SprtTest) else UNSET,
        decided_by=status.sole or UNSET,
        info=plan.info,
    )


def details_of(run: Run, pulse: RunSpeed) -> v1.RunDetails:
    """Costs some statistics: to be called in a thread."""
    tally = run.tally
    return v1.RunDetails(
        **asdict(summary_of(run)),
        failures=run.status.failures,
        committed_games=tally.committed,
        total_games=tally.total,
        tasks=tally.tasks,
        nps=finite(pulse.nps),
        games_per_minute=finite(pulse.games_per_minute),
        needs=tuple(map(str, run.demands.needs)),
        args=args_document(run),
        elo=_elo(run),
        live_elo=live_elo_of(run) or UNSET,
        rescheduled_from=run.rescheduled_from or UNSET,
        new_record=_record(run.plan.sides[0]),
        base_record=_record(run.plan.sides[1]),
        records=records_digest(run),
    )


def _record(side: Side) -> EngineRecord | UnsetType:
    return record_of(side) or UNSET


def _elo(run: Run) -> FixedElo | UnsetType:
    results = run.tally.results
    if isinstance(run.kind, SpsaTuning) or not results.games:
        return UNSET
    return fixed_elo(results.pentanomial)


def purge_of(purged: Purged) -> v1.PurgeAnswer:
    toll = purged.toll
    return v1.PurgeAnswer(
        run=summary_of(purged.run),
        tasks=toll.tasks,
        games=toll.games,
        workers=toll.workers,
        under_way=purged.under_way,
    )


def task_of(task: Task, apart: Mapping[int, Results]) -> v1.TaskEntry:
    return v1.TaskEntry(
        run=task.run,
        id=task.id,
        worker=task.machine.long_name,
        user=task.machine.user,
        active=task.active,
        bad=task.bad,
        too_fast=task.too_fast,
        start=task.start,
        num_games=task.games,
        created=task.created,
        reported=task.reported,
        results=task.results,
        kept_apart=apart.get(task.id, UNSET),
    )


def contributor_of(who: Contributor, games_per_minute: float) -> v1.ContributorEntry:
    return v1.ContributorEntry(
        user=who.user_name,
        games=who.games,
        core_hours=finite(who.core_hours),
        tests=who.tests,
        games_per_hour=finite(60 * games_per_minute),
        last=who.last or UNSET,
    )


def user_of(user: User, *, to_approver: bool) -> people.UserEntry:
    return people.UserEntry(
        name=user.name,
        approver=is_approver(user),
        created=user.created,
        blocked=user.blocked if to_approver else UNSET,
        pending=user.pending if to_approver else UNSET,
        machine_limit=user.machine_limit if to_approver else UNSET,
        groups=tuple(sorted(user.groups)) if to_approver else UNSET,
    )
