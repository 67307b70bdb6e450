"""The buttons of a run: each is a form that asks the fleet, as the JSON API does."""

from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.farm.fleet import Fleet
from rookery.model.plan import Modification
from rookery.model.run import Run
from rookery.pages.page import find_run_for, redirect_to, viewer_of
from rookery.rules.lifecycle import Actor
from rookery.web.answers import site_of
from rookery.web.callers import translated_errors
from rookery.web.faults import BadRequest, HttpFault, NotFound
from rookery.web.scope import Form, is_local, request_info_of, session_of

LONGEST_MESSAGE = 500
Command = Callable[[Fleet, str, Actor, Form], Awaitable[str]]


@runs(
    Domain.LOOP, "changes memory and awaits the commit; a purge reads the tasks", needs_primary=True
)
async def change_run(request: Request) -> Response:
    """Carries a command out; the page that follows says what came of it."""
    run_id, name = str(request.path_params["run_id"]), str(request.path_params["command"])
    actor = await viewer_of(request)
    if name not in COMMANDS:
        raise NotFound
    if actor is None:
        return redirect_to(f"/login?next=/runs/{run_id}")
    run = await find_run_for(actor, request)
    await carry_out(request, COMMANDS[name], run, actor)
    wanted = request_info_of(request.scope).form.text("next")
    return redirect_to(wanted if wanted and is_local(wanted) else f"/runs/{run_id}")


async def carry_out(request: Request, command: Command, run: Run, actor: Actor) -> None:
    """Does what a form asks for, and has the next page tell what came of it."""
    site, form = site_of(request), request_info_of(request.scope).form
    session = session_of(request.scope)
    try:
        with translated_errors():
            if command is _approve:
                site.engines.check_looked_at(run, form.text("records"))
            session.flash(await command(site.fleet, run.id, actor, form))
    except HttpFault as refused:
        session.flash(str(refused), "error")


async def _approve(fleet: Fleet, run_id: str, actor: Actor, _form: Form) -> str:
    run = await fleet.commands.approve(run_id, actor)
    return f"{run.plan.sides[0].tag} is approved."


async def _stop(fleet: Fleet, run_id: str, actor: Actor, form: Form) -> str:
    run = await fleet.commands.stop(run_id, actor, form.text("message")[:LONGEST_MESSAGE])
    return f"{run.plan.sides[0].tag} is stopped."


async def _modify(fleet: Fleet, run_id: str, actor: Actor, form: Form) -> str:
    wanted = Modification(
        priority=read_whole(form, "priority", -1000, 1000),
        throughput=read_whole(form, "throughput", 1, 1000),
    )
    run = await fleet.commands.modify(run_id, actor, wanted)
    return f"Priority {run.plan.priority}, throughput {run.plan.throughput} %."


async def _purge(fleet: Fleet, run_id: str, actor: Actor, _form: Form) -> str:
    purged = await fleet.purges.purge(run_id, actor)
    if purged.under_way:
        return "The purge is under way; the log of actions will say what it struck out."
    struck = purged.toll.tasks
    return f"{struck} tasks were struck out." if struck else "Nothing had to be struck out."


async def _delete(fleet: Fleet, run_id: str, actor: Actor, _form: Form) -> str:
    run = await fleet.commands.delete(run_id, actor)
    return f"{run.plan.sides[0].tag} is deleted; its page can restore it."


async def _restore(fleet: Fleet, run_id: str, actor: Actor, _form: Form) -> str:
    run = await fleet.commands.restore(run_id, actor)
    return f"{run.plan.sides[0].tag} is listed again."


def read_whole(form: Form, name: str, low: int, high: int) -> int:
    """A number that was typed; raises BadRequest."""
    text = form.text(name).strip()
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and low <= int(digits[:9]) * _sign(text) <= high):
        raise BadRequest(f"The {name} is a whole number from {low} to {high}.")
    return int(text)


def _sign(text: str) -> int:
    return -1 if text.startswith("-") else 1


COMMANDS: Mapping[str, Command] = {
    "approve": _approve,
    "stop": _stop,
    "modify": _modify,
    "purge": _purge,
    "delete": _delete,
    "restore": _restore,
}
