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

from rookery.core.books import DEMO
from rookery.core.boundary.errors import GateFull
from rookery.core.model.actor import Actor
from rookery.core.model.engine import EngineRecord
from rookery.core.protocol.checks import list_faults
from rookery.core.protocol.codec import WireFault
from rookery.core.protocol.runs import read_submitted
from rookery.core.protocol.v1 import CreatedRun
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
from rookery.server.engines.engines import Engines
from rookery.server.engines.privacy import Privacy
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.faults import Forbidden
from rookery.server.http.form import ShownForm, Texts
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form
from rookery.server.http.session import Session
from rookery.server.http.signatures import Parts
from rookery.server.identity.bearers import Bearers
from rookery.server.runs.submissions import Submissions
from rookery.server.teams.teams import Teams

NEW = "/engines/new"
EDIT = "/engines/{name}/edit"
Shown = Page | Response
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


pages = Pages(NEW)
routes = pages.make_routes
SAVED = "awaits one write and the submission of a trial, rendered in a thread"


@dataclass(frozen=True, slots=True)
class EngineFormParts(Parts):
    """What the forms are made of, and what they change."""

    actor: Actor
    session: Session
    engines: Engines
    privacy: Privacy
    teams: Teams
    bearers: Bearers
    submissions: Submissions
    """Where a trial is submitted."""


@pages(f"GET|POST {NEW}", SAVED)
async def new_engine(request: Request, form: Form, parts: EngineFormParts) -> Shown:
    teams = _list_teams(parts)
    if not teams:
        parts.session.flash(NO_TEAM, "error")
        return redirect_to("/teams")
    view = EngineFormView("Add an engine", NEW, "/engines", {}, teams=teams)
    if request.method == "POST":
        return await _save(parts, replace(view, texts=form.texts()), None)
    first = EngineRecord(name="x", team=teams[0])
    return _show(replace(view, texts=spell_record(first) | {"name": ""}))


@pages(f"GET|POST {EDIT}", SAVED, back=EDIT)
async def edit_engine(request: Request, name: str, form: Form, parts: EngineFormParts) -> Shown:
    record = await parts.privacy.find_engine(parts.actor.name, name)
    if not parts.engines.may_write(parts.actor, record):
        raise Forbidden("Only members of the engine's team and approvers can edit its record.")
    teams = tuple(dict.fromkeys((*_list_teams(parts), record.team)))
    view = _view_edited(name, spell_record(record), teams)
    if request.method == "POST":
        texts = {**form.texts(), "name": name}
        return await _save(parts, replace(view, texts=texts), record)
    return _show(view)


def _list_teams(parts: EngineFormParts) -> tuple[str, ...]:
    """The teams that the actor may give an engine to. Only approvers may add engines without a
    team."""
    own = sorted(parts.teams.of(parts.actor.name))
    return ("", *own) if parts.actor.approver else tuple(own)


def _view_edited(name: str, texts: Texts, teams: tuple[str, ...]) -> EngineFormView:
    here = f"/engines/{quote(name)}"
    return EngineFormView(f"Edit {name}", f"{here}/edit", here, texts, {}, teams, False)


async def _save(parts: EngineFormParts, view: EngineFormView, before: EngineRecord | None) -> Shown:
    """Write the record as the JSON API does, and submit its trial if one was asked for."""
    read = read_record(view.texts, parts.engines.find_faults)
    if read.value is None:
        return _show(replace(view, errors=read.errors), 422)
    # The form has no input for this field.
    record = with_fields(read.value, history=before is not None and before.history)
    if errors := await _put(parts, record, before):
        return _show(replace(view, errors=errors), 422)
    parts.session.flash(f"{record.name} is saved.")
    if view.text("do") == "try":
        return await _try(parts, view, record)
    return redirect_to(f"/engines/{quote(record.name)}")


async def _put(
    parts: EngineFormParts, record: EngineRecord, before: EngineRecord | None
) -> Mapping[str, str]:
    """Write a record. Returns the errors by input."""
    try:
        await parts.engines.put(record, parts.actor, replacing=before is not None)
    except WireFault as fault:
        return FORM.place(list_faults(fault))
    except REFUSALS as refused:
        return {"": text_of(refused)}
    return {}


async def _try(parts: EngineFormParts, view: EngineFormView, record: EngineRecord) -> Shown:
    """Submit a trial: a few games of the engine against itself. Its run shows the outcome."""
    fields = _make_trial(record, view.text("ref").strip(), view.text("nodes").strip())
    bearer = await parts.bearers.find_logged_in(parts.actor.name)
    try:
        made: CreatedRun = await parts.submissions.submit(read_submitted(fields), bearer)
    except REFUSALS as refused:
        return _edit_again(view, record, text_of(refused))
    except GateFull:
        return _edit_again(view, record, BUSY)
    waits = " An approver has to approve it." if made.state == "pending" else ""
    parts.session.flash(
        f"{TRIAL_GAMES} games against itself will show whether it builds and plays.{waits}"
    )
    return redirect_to(f"/runs/{made.id}")


def _edit_again(view: EngineFormView, record: EngineRecord, why: str) -> Page:
    """The form after a failed trial. The record is saved by then, so that the next attempt changes
    it."""
    again = _view_edited(record.name, view.texts, view.teams)
    return _show(replace(again, errors={"ref": f"The trial could not be submitted: {why}"}), 422)


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


def _show(view: EngineFormView, status: int = 200) -> Page:
    return Page("engine_form.html", view, status)
