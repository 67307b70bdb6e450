"""The buttons of a run: each is a form whose command goes to the fleet, as in the JSON API."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from rookery.core.model.actor import Actor
from rookery.core.model.run import BadGameCount, GamesCannotChange, Run
from rookery.core.protocol.codec import WireFault
from rookery.server.engines.engines import Engines
from rookery.server.farm.fleet import Fleet
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.faults import NotFound
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form, is_local
from rookery.server.http.session import Session
from rookery.server.http.signatures import Parts
from rookery.server.runs.run.changes import GAMES_FIELD, ChangeRefused, RefusedChange, read_change
from rookery.server.runs.run.page import RunPage
from rookery.server.show.rights import list_rights

LONGEST_MESSAGE = 500
Command = Callable[[Fleet, str, Actor, Form], Awaitable[str]]


pages = Pages()
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class RunButtons(Parts):
    """What the buttons of a run need: the posted form, and a session that takes the message for the
    next page."""

    form: Form
    session: Session
    engines: Engines
    fleet: Fleet

    async def press(self, command: Command, run: Run, actor: Actor) -> Exception | None:
        """Carry out a form's command. Returns the reason if it was refused."""
        try:
            if command is _approve:
                self.engines.check_looked_at(run, self.form.text("records"))
            self.session.flash(await command(self.fleet, run.id, actor, self.form))
        except REFUSALS as refused:
            return refused
        return None


@pages(
    "POST /runs/{run_id}/{command}",
    "awaits the commit; a purge reads the tasks; a refused change is shown by a thread",
    needs_primary=True,
)
async def change_run(
    run_id: str, command: str, viewer: Actor | None, buttons: RunButtons, page: RunPage
) -> Page | Response:
    """Carry out a command and show the outcome on the next page. After a refused change, the run's
    page shows the form as it was typed."""
    if command not in COMMANDS:
        raise NotFound
    if viewer is None:
        return redirect_to(f"/login?next=/runs/{run_id}")
    run, form = await page.visible.find_part(run_id, viewer), buttons.form
    refused = await buttons.press(COMMANDS[command], run, viewer)
    if isinstance(refused, ChangeRefused) and _has_form(run, viewer, page.clock.now()):
        return await page.show(run, viewer, RefusedChange(form, refused.errors), status=400)
    if refused is not None:
        buttons.session.flash(text_of(refused), "error")
    wanted = form.text("next")
    return redirect_to(wanted if wanted and is_local(wanted) else f"/runs/{run_id}")


def _has_form(run: Run, actor: Actor, now: datetime) -> bool:
    """Whether the run's page shows this person the form of its settings."""
    rights = list_rights(actor, run, now)
    return rights.modify or rights.extend


async def _approve(fleet: Fleet, run_id: str, actor: Actor, _form: Form) -> str:
    run = await fleet.commands.approve(run_id, actor)
    return f"{run.plan.new.tag} is approved."


async def _withdraw(fleet: Fleet, run_id: str, actor: Actor, _form: Form) -> str:
    run = await fleet.commands.withdraw(run_id, actor)
    return f"The approval of {run.plan.new.tag} is withdrawn."


async def _stop(fleet: Fleet, run_id: str, actor: Actor, form: Form) -> str:
    run = await fleet.commands.stop(run_id, actor, form.text("message")[:LONGEST_MESSAGE])
    return f"{run.plan.new.tag} is stopped."


async def _modify(fleet: Fleet, run_id: str, actor: Actor, form: Form) -> str:
    change = read_change(form)
    try:
        run = await fleet.commands.modify(run_id, actor, change)
    except (WireFault, BadGameCount, GamesCannotChange) as refused:
        raise ChangeRefused({GAMES_FIELD: text_of(refused)}) from None
    waits = "" if run.status.approved else " It has to be approved."
    return f"{run.plan.new.tag} is modified.{waits}"


async def _purge(fleet: Fleet, run_id: str, actor: Actor, _form: Form) -> str:
    purged = await fleet.purges.purge(run_id, actor)
    if purged.under_way:
        return "The purge is running; the log will show what it struck out."
    struck = purged.toll.tasks
    return f"{struck} tasks were struck out." if struck else "There was nothing to strike out."


async def _delete(fleet: Fleet, run_id: str, actor: Actor, _form: Form) -> str:
    run = await fleet.commands.delete(run_id, actor)
    return f"{run.plan.new.tag} is deleted. You can restore it from its page."


async def _restore(fleet: Fleet, run_id: str, actor: Actor, _form: Form) -> str:
    run = await fleet.commands.restore(run_id, actor)
    return f"{run.plan.new.tag} is restored."


COMMANDS: Mapping[str, Command] = {
    "approve": _approve,
    "withdraw": _withdraw,
    "stop": _stop,
    "modify": _modify,
    "purge": _purge,
    "delete": _delete,
    "restore": _restore,
}
