"""Forms to add an engine and to change its record, and to try it with a few games on the fleet.

Building an engine needs a compiler, time and a sandbox, which workers have and the server does not.
A trial is therefore a small run, submitted like any other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from msgspec.structs import replace as with_fields
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.books import DEMO
from rookery.core.boundary.errors import GateFull
from rookery.core.model.engine import EngineRecord
from rookery.core.protocol.checks import list_faults
from rookery.core.protocol.codec import WireFault
from rookery.core.protocol.runs import read_submitted
from rookery.core.protocol.v1 import CreatedRun
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.edit.form import (
    FORM,
    GROUPS,
    TRIAL,
    InputGroup,
    count_presets,
    list_shown_inputs,
    read_record,
    spell_record,
)
from rookery.server.engines.engines import UnknownEngine
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.http.answers import site_of
from rookery.server.http.callers import find_caller
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.faults import Forbidden
from rookery.server.http.form import ShownForm, Texts
from rookery.server.http.pages.page import redirect_to, render_page, viewer_of
from rookery.server.http.scope import request_info_of, session_of
from rookery.server.runs.submissions import Submissions

NEW = "/engines/new"
NO_COMMIT = "0" * 40
TRIAL_GAMES = 8
NO_TEAM = "Engines belong to teams. Create or join a team first."
BUSY = "Too many branches are being looked up right now; try again in a moment."


@dataclass(frozen=True, slots=True)
class EngineFormView:
    """The form with what was typed."""

    title: str
    action: str
    back: str
    texts: Texts
    errors: Mapping[str, str] = field(default_factory=dict)
    teams: tuple[str, ...] = ()
    is_new: bool = True
    groups: tuple[InputGroup, ...] = GROUPS
    trial: tuple[str, ...] = tuple(TRIAL)

    @property
    def preset_rows(self) -> range:
        return range(count_presets(self.texts))

    @property
    def form(self) -> ShownForm:
        shown = list_shown_inputs(self.teams, is_new=self.is_new)
        return ShownForm(shown, self.texts, self.errors)

    def text(self, name: str) -> str:
        return self.texts.get(name, "")


@runs(Domain.THREAD, "awaits one write and the submission of a trial, rendered in a thread")
async def new_engine(request: Request) -> Response:
    actor = await viewer_of(request)
    if actor is None:
        return redirect_to(f"/login?next={NEW}")
    view = EngineFormView("Add an engine", NEW, "/engines", {}, teams=_list_teams(request, actor))
    if not view.teams:
        session_of(request.scope).flash(NO_TEAM, "error")
        return redirect_to("/teams")
    if request.method == "POST":
        texts = request_info_of(request.scope).form.texts()
        return await _save(request, actor, replace(view, texts=texts), None)
    first = EngineRecord(name="x", team=view.teams[0])
    return await _show(request, replace(view, texts=spell_record(first) | {"name": ""}))


@runs(Domain.THREAD, "awaits one write and the submission of a trial, rendered in a thread")
async def edit_engine(request: Request) -> Response:
    site, actor, name = site_of(request), await viewer_of(request), str(request.path_params["name"])
    here, back = f"/engines/{quote(name)}/edit", f"/engines/{quote(name)}"
    if actor is None:
        return redirect_to(f"/login?next={quote(here)}")
    if not site.privacy.may_see_engine(actor.name, name):
        raise UnknownEngine(name=name)
    record = await site.engines.by_name(name)
    if not site.engines.may_write(actor, record):
        raise Forbidden("Only members of the engine's team and approvers can edit its record.")
    teams = tuple(dict.fromkeys((*_list_teams(request, actor), record.team)))
    view = EngineFormView(f"Edit {name}", here, back, spell_record(record), {}, teams, False)
    if request.method == "POST":
        texts = {**request_info_of(request.scope).form.texts(), "name": name}
        return await _save(request, actor, replace(view, texts=texts), record)
    return await _show(request, view)


def _list_teams(request: Request, actor: Actor) -> tuple[str, ...]:
    """The teams that the actor may give an engine to. Only approvers may add engines without a
    team."""
    own = sorted(site_of(request).teams.of(actor.name))
    return ("", *own) if actor.approver else tuple(own)


async def _save(
    request: Request, actor: Actor, view: EngineFormView, before: EngineRecord | None
) -> Response:
    """Write the record as the JSON API does, and submit its trial if one was asked for."""
    site, session = site_of(request), session_of(request.scope)
    read = read_record(view.texts, site.engines.find_faults)
    if read.value is None:
        return await _show(request, replace(view, errors=read.errors), 422)
    # The form has no input for this field.
    record = with_fields(read.value, history=before is not None and before.history)
    if errors := await _put(site, record, actor, before):
        return await _show(request, replace(view, errors=errors), 422)
    session.flash(f"{record.name} is saved.")
    if view.text("do") == "try":
        return await _try(request, view, record)
    return redirect_to(f"/engines/{quote(record.name)}")


async def _put(
    site: Site, record: EngineRecord, actor: Actor, before: EngineRecord | None
) -> Mapping[str, str]:
    """Write a record. Returns the errors by input."""
    try:
        await site.engines.put(record, actor, replacing=before is not None)
    except WireFault as fault:
        return FORM.place(list_faults(fault))
    except REFUSALS as refused:
        return {"": text_of(refused)}
    return {}


async def _try(request: Request, view: EngineFormView, record: EngineRecord) -> Response:
    """Submit a trial: a few games of the engine against itself. Its run shows the outcome."""
    site, session = site_of(request), session_of(request.scope)
    bearer = await find_caller(request, site.bearers)
    if bearer is None:
        return redirect_to("/login")
    submissions = request.app.state.features.make(Submissions)
    fields = _make_trial(record, view.text("ref").strip(), view.text("nodes").strip())
    try:
        made: CreatedRun = await submissions.submit(read_submitted(fields), bearer)
    except REFUSALS as refused:
        return await _edit_again(request, view, record, text_of(refused))
    except GateFull:
        return await _edit_again(request, view, record, BUSY)
    waits = " An approver has to approve it." if made.state == "pending" else ""
    session.flash(
        f"{TRIAL_GAMES} games against itself will show whether it builds and plays.{waits}"
    )
    return redirect_to(f"/runs/{made.id}")


async def _edit_again(
    request: Request, view: EngineFormView, record: EngineRecord, why: str
) -> Response:
    """The form after a failed trial. The record is saved by then, so that the next attempt changes
    it."""
    name = quote(record.name)
    shown = replace(
        view,
        title=f"Edit {record.name}",
        action=f"/engines/{name}/edit",
        back=f"/engines/{name}",
        is_new=False,
        errors={"ref": f"The trial could not be submitted: {why}"},
    )
    return await _show(request, shown, 422)


def _make_trial(record: EngineRecord, ref: str, nodes: str) -> dict[str, object]:
    """The fields of a trial's submission. `nodes` is the bench of a commit whose message has
    none."""
    tag = ref or record.branch or "main"
    fields: dict[str, object] = {
        "new_engine": record.name,
        "base_engine": record.name,
        "new_tag": tag,
        "base_tag": tag,
        "tc": "1+0.01",
        "book": DEMO,
        "num_games": TRIAL_GAMES,
        "info": f"A trial of the record of {record.name}: does it build, bench and play?",
    }
    if nodes:
        fields |= {"new_signature": nodes, "base_signature": nodes}
    if record.recipe.kind == "installed":
        fields |= {"resolved_new": NO_COMMIT, "resolved_base": NO_COMMIT}
    return fields


async def _show(request: Request, view: EngineFormView, status: int = 200) -> Response:
    return await render_page(request, "engine_form.html", view, status)


def routes() -> list[BaseRoute]:
    return [
        Route(NEW, new_engine, methods=["GET", "POST"]),
        Route("/engines/{name}/edit", edit_engine, methods=["GET", "POST"]),
    ]
