"""The page of a machine: its hardware, what it plays and played, its failures, and its block."""

from collections.abc import Iterable, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.events import BY_WORKERS
from rookery.core.model.machine import SHORT_NAME, Machine
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.privacy import may_see_machine_details, name_of, owns_machine
from rookery.server.farm.commands import LONGEST_BLOCK_MESSAGE
from rookery.server.farm.rules.answers import MachineBlock
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.views import KnownMachine, UnknownMachine
from rookery.server.http.answers import site_of
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.pages.page import redirect_to, render_page, viewer_of
from rookery.server.http.scope import request_info_of, session_of
from rookery.server.log.action_rows import index_logs, list_readable
from rookery.server.log.api import select_machine_actions
from rookery.server.machines.hosts import identify_host

MOST_TASKS = 30
MOST_WORDS = 50
NO_REASON = "Enter a reason. Its owner and other users can see it."


@runs(Domain.THREAD, "awaits five queries, rendered in a thread")
async def machine_page(request: Request) -> Response:
    return await render_page(request, "machine.html", await _load(request))


@runs(Domain.LOOP, "changes memory and awaits the commit", needs_primary=True)
async def block_machine(request: Request) -> Response:
    return await _set_block(request, request_info_of(request.scope).form.text("message").strip())


@runs(Domain.LOOP, "changes memory and awaits the commit", needs_primary=True)
async def unblock_machine(request: Request) -> Response:
    return await _set_block(request, None)


async def _set_block(request: Request, message: str | None) -> Response:
    """Block or unblock the machine as the JSON API does, and show the outcome on the next page."""
    name, actor = str(request.path_params["worker"]), await viewer_of(request)
    here, session = f"/machines/{name}", session_of(request.scope)
    if actor is None:
        return redirect_to(f"/login?next={here}")
    try:
        _check_name(name)
        if message == "":
            session.flash(NO_REASON, "error")
            return redirect_to(here)
        await site_of(request).fleet.commands.block(name, message, actor)
    except REFUSALS as refused:
        session.flash(text_of(refused), "error")
        return redirect_to("/machines")
    session.flash(f"{name} is unblocked." if message is None else f"{name} is blocked.")
    return redirect_to(here)


def _check_name(name: str) -> None:
    if not SHORT_NAME.fullmatch(name):
        raise UnknownMachine(machine=name[:100])


async def _load(request: Request) -> Mapping[str, object]:
    """What the page shows, without what this visitor may not see."""
    site, viewer = site_of(request), await viewer_of(request)
    name = str(request.path_params["worker"])
    _check_name(name)
    blocks = await site.fleet.views.whole_blocks()
    known = await site.fleet.views.machine(name)
    tasks = await site.reads.tasks_of_machine(name, MOST_TASKS)
    sight = site.privacy.sight(viewer)
    words = await site.reads.actions(
        select_machine_actions(name, BY_WORKERS), limit=MOST_WORDS, sight=sight
    )
    runs = await _load_runs(
        site, viewer, {task.run for task in tasks} | {word.run for word in words}, known
    )
    shown = _select_known(known, name, viewer, runs)
    tasks = tuple(task for task in tasks if task.run in runs)
    if not (tasks or shown or name in blocks):
        raise UnknownMachine(machine=name)
    machine, task = _find_description(shown, tasks), shown.task if shown else None
    block, concerned = blocks.get(name), may_see_machine_details(viewer, name)
    at_play = runs.get(task.run) if task else None
    return {
        "now": site.clock.now(),
        "name": name,
        "machine": machine,
        "known": shown,
        "run": at_play,
        # The speed of a waiting machine refers to the run that it played last.
        "reference": at_play or (runs[tasks[0].run] if tasks else None),
        "heard": shown.heard if shown else max((each.reported for each in tasks), default=None),
        # How its present results compare with those of others; None if there are too few.
        "colour": site.fleet.activity.residual_colours.get((task.run, task.id)) if task else None,
        "tasks": tasks,
        "runs": runs,
        "events": words,
        "logs": index_logs(await site.logs.rows.of_tasks(list_readable(words, runs, viewer))),
        "games": await site.games.rows.find_present([(task.run, task.id) for task in tasks]),
        "others": await _load_other_names(site, machine) if shown and concerned else (),
        "block": block,
        "reason": block.message if block and concerned else "",
        "may_block": may_block(viewer, name, block),
        "longest_message": LONGEST_BLOCK_MESSAGE,
    }


async def _load_runs(
    site: Site, viewer: Actor | None, ids: set[str], known: KnownMachine | None
) -> dict[str, Run]:
    wanted = {run_id for run_id in (*ids, known.run if known else "") if run_id}
    found = await site.reads.runs(wanted)
    return {run.id: run for run in found if site.privacy.may_see(name_of(viewer), run)}


def _select_known(
    known: KnownMachine | None, name: str, viewer: Actor | None, runs: Mapping[str, Run]
) -> KnownMachine | None:
    """The machine if the viewer may see it. A waiting one is visible to its owner and to approvers,
    a playing one to all who may see its run."""
    if known is None:
        return None
    seen = known.run in runs if known.task else may_see_machine_details(viewer, name)
    return known if seen or owns_machine(viewer, name) else None


async def _load_other_names(site: Site, machine: Machine | None) -> tuple[str, ...]:
    """They are searched for in a thread, among what may be ten thousand machines."""
    roster = await site.roster.load()
    return await site.threads.cpu(find_other_names, machine, roster.picture.known)


def find_other_names(machine: Machine | None, known: Iterable[KnownMachine]) -> tuple[str, ...]:
    """Other names under which the same computer is or was connected."""
    if machine is None or not machine.claimed.host:
        return ()
    key = identify_host(machine)
    names = {each.machine.short_name for each in known if identify_host(each.machine) == key}
    return tuple(sorted(names - {machine.short_name}))


def may_block(viewer: Actor | None, name: str, block: MachineBlock | None) -> bool:
    """Whether the viewer may block or unblock this machine. Only an approver may undo an approver's
    block."""
    if viewer is None or not may_see_machine_details(viewer, name):
        return False
    return viewer.approver or block is None or not block.is_approvers


def _find_description(known: KnownMachine | None, tasks: Sequence[Task]) -> Machine | None:
    """The machine as it described itself last."""
    if known:
        return known.machine
    return tasks[0].machine if tasks else None


def routes() -> list[BaseRoute]:
    here = "/machines/{worker}"
    return [
        Route(here, machine_page, methods=["GET"]),
        Route(f"{here}/block", block_machine, methods=["POST"]),
        Route(f"{here}/unblock", unblock_machine, methods=["POST"]),
    ]
