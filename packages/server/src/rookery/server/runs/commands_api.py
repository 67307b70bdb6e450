"""Commands on runs: submit or preview, approve, withdraw, stop, reopen, modify, purge, delete,
restore. The rules decide who may do what; in addition, a token needs the scope for it. A run that
the caller may not see does not exist, whatever else they may do."""

from functools import partial
from typing import Annotated

from rookery.core.model.bounds import RunId
from rookery.core.model.plan import Modification
from rookery.core.protocol import v1
from rookery.core.protocol.runs import SubmittedArgs
from rookery.server.engines.engines import Engines
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.fleet import Fleet
from rookery.server.http.endpoint import LOOP, THREAD, Endpoints, Work
from rookery.server.identity.bearers import Caller
from rookery.server.identity.users import Scope
from rookery.server.runs.api import make_summary
from rookery.server.runs.submissions import Submissions, make_preview

OWNERS = (Scope.SUBMIT, Scope.APPROVE)
CHANGE = "changes memory and awaits the commit"
Submitted = Annotated[bytes, SubmittedArgs]

api = Endpoints("/api/v1", scope=Scope.SUBMIT)
commands = Endpoints("/api/v1", scope=OWNERS, needs_primary=True)


@commands(
    "POST /runs",
    LOOP,
    "checks some words; a large tune is read in a thread",
    scope=Scope.SUBMIT,
    status=201,
)
async def create_run(submissions: Submissions, caller: Caller, body: Submitted) -> v1.CreatedRun:
    """Create a run."""
    return await submissions.submit(await submissions.read_posted(body), caller)


@api("POST /runs/preview", THREAD, "lengths are worked out in a thread")
async def preview_run(
    submissions: Submissions, caller: Caller, body: Submitted
) -> Work[v1.Preview]:
    """Preview a run without creating it."""
    made = await submissions.prepare_preview(await submissions.read_posted(body), caller)
    machines = await submissions.list_machines_now(caller.user.name)
    return partial(make_preview, made.run, made.warnings, machines)


@commands("POST /runs/{run_id}/approve", LOOP, CHANGE, scope=Scope.APPROVE, empty_body=True)
async def approve_run(
    fleet: Fleet,
    visible: VisibleRuns,
    engines: Engines,
    caller: Caller,
    run_id: RunId,
    seen: v1.ApproveBody,
) -> v1.RunSummary:
    """Approve a run."""
    engines.check_looked_at(await visible.find(run_id, caller.user.name), seen.records)
    return make_summary(await fleet.commands.approve(run_id, caller.actor))


@commands("POST /runs/{run_id}/stop", LOOP, CHANGE, empty_body=True)
async def stop_run(
    fleet: Fleet, visible: VisibleRuns, caller: Caller, run_id: RunId, wish: v1.StopBody
) -> v1.RunSummary:
    """Stop a run."""
    await visible.find(run_id, caller.user.name)
    return make_summary(await fleet.commands.stop(run_id, caller.actor, wish.message))


@commands("POST /runs/{run_id}/modify", LOOP, CHANGE, most_bytes=256 * 1024)
async def modify_run(
    fleet: Fleet, visible: VisibleRuns, caller: Caller, run_id: RunId, wanted: Modification
) -> v1.RunSummary:
    """Change a run."""
    await visible.find(run_id, caller.user.name)
    return make_summary(await fleet.commands.modify(run_id, caller.actor, wanted))


@commands(
    "POST /runs/{run_id}/purge", THREAD, "the tasks are compared in a thread; awaits the commit"
)
async def purge_run(
    fleet: Fleet, visible: VisibleRuns, caller: Caller, run_id: RunId
) -> v1.PurgeAnswer:
    """Purge results that can't be trusted."""
    await visible.find(run_id, caller.user.name)
    purged = await fleet.purges.purge(run_id, caller.actor)
    return v1.PurgeAnswer(
        run=make_summary(purged.run),
        tasks=purged.toll.tasks,
        games=purged.toll.games,
        workers=purged.toll.workers,
        under_way=purged.under_way,
    )


@commands("POST /runs/{run_id}/delete", LOOP, CHANGE)
async def delete_run(
    fleet: Fleet, visible: VisibleRuns, caller: Caller, run_id: RunId
) -> v1.RunSummary:
    """Stop a run and hide it."""
    await visible.find(run_id, caller.user.name)
    return make_summary(await fleet.commands.delete(run_id, caller.actor))


@commands("POST /runs/{run_id}/restore", LOOP, CHANGE)
async def restore_run(
    fleet: Fleet, visible: VisibleRuns, caller: Caller, run_id: RunId
) -> v1.RunSummary:
    """Show a deleted run again."""
    await visible.find(run_id, caller.user.name)
    return make_summary(await fleet.commands.restore(run_id, caller.actor))


@commands("POST /runs/{run_id}/withdraw", LOOP, CHANGE, scope=Scope.APPROVE)
async def withdraw_run(
    fleet: Fleet, visible: VisibleRuns, caller: Caller, run_id: RunId
) -> v1.RunSummary:
    """Withdraw a run's approval."""
    await visible.find(run_id, caller.user.name)
    return make_summary(await fleet.commands.withdraw(run_id, caller.actor))


@commands("POST /runs/{run_id}/reopen", LOOP, CHANGE)
async def reopen_run(
    fleet: Fleet, visible: VisibleRuns, caller: Caller, run_id: RunId
) -> v1.RunSummary:
    """Continue a stopped run."""
    await visible.find(run_id, caller.user.name)
    return make_summary(await fleet.commands.reopen(run_id, caller.actor))
