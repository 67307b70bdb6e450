"""Commands on runs: submit or preview, approve, withdraw, stop, reopen, modify, purge, delete,
restore."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.model.plan import Modification
from rookery.core.model.run import Run
from rookery.core.protocol import v1
from rookery.core.protocol.codec import Reader
from rookery.core.protocol.runs import SubmittedArgs
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.commands import RunCommands
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.rules.purge import Purged
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer, read_body
from rookery.server.http.callers import find_run, require_bearer, translated_errors
from rookery.server.http.openapi import Operation, described
from rookery.server.people.users import Scope
from rookery.server.runs.api import BY_ID, make_summary
from rookery.server.runs.submissions import (
    list_machines_now,
    make_preview,
    prepare_preview,
    read_posted,
    submit_run,
)

MODIFY = Reader(Modification, most_bytes=256 * 1024)
APPROVE = Reader(v1.ApproveBody)
STOP = Reader(v1.StopBody)
OWNERS = (Scope.SUBMIT, Scope.APPROVE)
CHANGED: dict[int, type | str] = {200: v1.RunSummary}


@described(Operation("Create a run", {201: v1.CreatedRun}, body=SubmittedArgs, bearer=True))
@runs(Domain.LOOP, "checks some words; a large tune is read in a thread", needs_primary=True)
async def create_run(request: Request) -> Response:
    site = site_of(request)
    bearer = await require_bearer(request, site.bearers, Scope.SUBMIT)
    body = await read_body(request.receive)
    with translated_errors():
        asked = await read_posted(site, body)
        return json_answer(await submit_run(site, asked, bearer), 201)


@described(
    Operation(
        "Preview a run without creating it", {200: v1.Preview}, body=SubmittedArgs, bearer=True
    )
)
@runs(Domain.THREAD, "lengths are worked out in a thread")
async def preview_run(request: Request) -> Response:
    site = site_of(request)
    bearer = await require_bearer(request, site.bearers, Scope.SUBMIT)
    body = await read_body(request.receive)
    with translated_errors():
        made = await prepare_preview(site, await read_posted(site, body), bearer)
        machines = await list_machines_now(site, bearer.user.name)
    return await site.threads.cpu(
        lambda: json_answer(make_preview(made.run, made.warnings, machines))
    )


# The rules decide who may do what; in addition, a token needs the scope for it.


@described(Operation("Approve a run", CHANGED, path=BY_ID, body=v1.ApproveBody, bearer=True))
@runs(Domain.LOOP, "changes memory and awaits the commit", needs_primary=True)
async def approve_run(request: Request) -> Response:
    site = site_of(request)
    actor = await _require_actor(request, Scope.APPROVE)
    body = await read_body(request.receive)
    with translated_errors():
        seen = APPROVE.read(body or b"{}")
        run = await site.fleet.views.known_run(_id(request))
        site.engines.check_looked_at(run, seen.records)
        return _changed(await site.fleet.commands.approve(_id(request), actor))


@described(Operation("Stop a run", CHANGED, path=BY_ID, body=v1.StopBody, bearer=True))
@runs(Domain.LOOP, "changes memory and awaits the commit", needs_primary=True)
async def stop_run(request: Request) -> Response:
    site = site_of(request)
    actor = await _require_actor(request, *OWNERS)
    body = await read_body(request.receive)
    with translated_errors():
        wish = STOP.read(body or b"{}")
        return _changed(await site.fleet.commands.stop(_id(request), actor, wish.message))


@described(Operation("Change a run", CHANGED, path=BY_ID, body=Modification, bearer=True))
@runs(Domain.LOOP, "changes memory and awaits the commit", needs_primary=True)
async def modify_run(request: Request) -> Response:
    site = site_of(request)
    actor = await _require_actor(request, *OWNERS)
    body = await read_body(request.receive)
    with translated_errors():
        wanted = MODIFY.read(body)
        return _changed(await site.fleet.commands.modify(_id(request), actor, wanted))


@described(
    Operation(
        "Purge results that can't be trusted",
        {200: v1.PurgeAnswer},
        path=BY_ID,
        bearer=True,
    )
)
@runs(Domain.LOOP, "reads the tasks, changes memory and awaits the commit", needs_primary=True)
async def purge_run(request: Request) -> Response:
    site = site_of(request)
    actor = await _require_actor(request, *OWNERS)
    with translated_errors():
        return json_answer(_purge_answer(await site.fleet.purges.purge(_id(request), actor)))


def _command(
    summary: str, change: Callable[[RunCommands, str, Actor], Awaitable[Run]], *scopes: Scope
) -> Callable[[Request], Awaitable[Response]]:
    """Make the endpoint of a command that takes only the run."""

    @described(Operation(summary, CHANGED, path=BY_ID, bearer=True))
    @runs(Domain.LOOP, "changes memory and awaits the commit", needs_primary=True)
    async def change_run(request: Request) -> Response:
        actor = await _require_actor(request, *scopes)
        with translated_errors():
            return _changed(await change(site_of(request).fleet.commands, _id(request), actor))

    return change_run


delete_run = _command("Stop a run and hide it", RunCommands.delete, *OWNERS)
restore_run = _command("Show a deleted run again", RunCommands.restore, *OWNERS)
withdraw_run = _command("Withdraw a run's approval", RunCommands.withdraw, Scope.APPROVE)
reopen_run = _command("Continue a stopped run", RunCommands.reopen, *OWNERS)


async def _require_actor(request: Request, *scopes: Scope) -> Actor:
    """The caller as actor. Raises NotFound if they may not see the run, whatever else they may
    do."""
    site = site_of(request)
    actor = (await require_bearer(request, site.bearers, *scopes)).actor
    await find_run(site, _id(request), actor.name)
    return actor


def _id(request: Request) -> str:
    return str(request.path_params["run_id"])


def _changed(run: Run) -> Response:
    return json_answer(make_summary(run))


def _purge_answer(purged: Purged) -> v1.PurgeAnswer:
    toll = purged.toll
    return v1.PurgeAnswer(
        run=make_summary(purged.run),
        tasks=toll.tasks,
        games=toll.games,
        workers=toll.workers,
        under_way=purged.under_way,
    )
