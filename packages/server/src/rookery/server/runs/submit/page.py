"""A new test: the form, its preview, and forms filled in from another run.

The form uses the same use case as scripts (`runs/submissions.py`), so that both accept the same
submissions. It plans a submission once, and shows all faults beside their inputs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.books import DEMO
from rookery.core.boundary.errors import GateFull
from rookery.core.model.engine import STOCKFISH, EngineRecord, PresetRecord
from rookery.core.model.presets import find_preset, list_presets
from rookery.core.protocol.checks import list_faults
from rookery.core.protocol.codec import WireFault
from rookery.core.protocol.v1 import CreatedRun
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.show.kinds import FORM_PAGES
from rookery.server.files.engine_files import StoredProgram
from rookery.server.http.answers import site_of
from rookery.server.http.callers import find_caller
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.faults import Forbidden
from rookery.server.http.form import ShownForm, Texts
from rookery.server.http.pages.page import (
    redirect_to,
    render_fragment,
    render_page,
    render_page_in_thread,
)
from rookery.server.http.scope import NEW_TEST_PATH, query_of, request_info_of, session_of
from rookery.server.people.bearers import Caller
from rookery.server.runs.submissions import list_machines_now, prepare_preview, submit_run
from rookery.server.runs.submit.form import (
    KEPT_BY_ENGINES,
    apply_preset,
    begin_form,
    pin_commits,
    place_faults,
    read_submission_form,
    spell_run,
    spell_tuned,
)
from rookery.server.runs.submit.inputs import FORM, RARE, SWITCHES
from rookery.server.runs.submit.kept import BACK, EXPIRED, LOGGED_OUT, keep_form
from rookery.server.runs.submit.preview import PreviewData, PreviewView, view_preview

HERE = NEW_TEST_PATH
MOST_PROGRAMS = 30
GIVEN = ("new_tag", "base_tag", "new_binary", "base_binary")
"""Inputs that parameters of the address may fill in."""
LONGEST_GIVEN = 200
BUSY = "Too many branches are being looked up right now; try again in a moment."
FAULTS: tuple[type[Exception], ...] = (*REFUSALS, GateFull)
"""The errors that the use case raises for a form."""


@dataclass(frozen=True, slots=True)
class PresetChoice:
    """A button for a preset, and the values that it fills in."""

    name: str
    summary: str
    texts: str
    """The values as JSON, for the script."""
    chosen: bool


@dataclass(frozen=True, slots=True)
class FormData:
    """The data for the page, loaded on the loop."""

    texts: Texts
    record: EngineRecord
    engines: tuple[str, ...] = ()
    books: tuple[str, ...] = ()
    programs: tuple[StoredProgram, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)
    preview: PreviewData | None = None
    origin: str = ""
    """The run that the form was filled in from."""
    said: str = ""
    """The message beside the button."""
    fresh: bool = False
    """Whether the form is shown for the first time."""


@dataclass(frozen=True, slots=True)
class SubmitView:
    """The page of a new test."""

    data: FormData
    form: ShownForm
    presets: tuple[PresetChoice, ...]
    preview: PreviewView | None

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """The kinds of test with their labels."""
        return [(name, page.form.label) for name, page in FORM_PAGES.items()]

    @property
    def engine_choices(self) -> list[tuple[str, str]]:
        return [(name, name) for name in self.data.engines]

    def program_choices(self, name: str) -> list[tuple[str, str]]:
        """The person's programs, and the one that is chosen."""
        chosen = self.form.text(name)
        own = {each.sha256: f"{each.name} ({each.sha256[:8]})" for each in self.data.programs}
        given = {chosen: chosen[:8]} if chosen else {}
        return [("", "built from its branch"), *(given | own).items()]

    @property
    def advanced_open(self) -> bool:
        """Whether an error is in the folded section."""
        return not self.data.errors.keys().isdisjoint(RARE)


@runs(
    Domain.THREAD,
    "a fixed number of queries, a look at branches, the page in a thread",
    needs_primary=True,
)
async def new_test(request: Request) -> Response:
    """The form. A post submits it, previews it or applies a preset. A post without the session's
    token only shows what was typed."""
    bearer, info = await find_submitter(request), request_info_of(request.scope)
    if request.method != "POST":
        if bearer is None:
            return lead_to_login(request)
        return await _show(request, replace(await _begin(request, bearer), fresh=True))
    if bearer is None:
        kept = keep_form(info.form.fields)
        return await render_page(request, "submit_kept.html", kept, 403)
    texts, form = _read_texts(request), info.form
    if info.unproven:
        return await _show_kept(request, bearer, texts, EXPIRED, 403)
    if form.text("do") == "again":
        return await _show_kept(request, bearer, texts, BACK)
    if wanted := form.text("use"):
        return await _show(request, await _with_preset(request, bearer, texts, wanted))
    if form.text("do") == "submit":
        return await _submit(request, bearer, texts)
    if form.text("do") == "switch":
        return await _show(request, await _switch_engine(request, bearer, texts))
    data = await _gather(request, bearer, texts)
    return await _show(request, await _look(request, bearer, data, ask_outside=True))


@runs(Domain.THREAD, "lengths are worked out in a thread")
async def preview_test(request: Request) -> Response:
    """The panel beside the form while somebody types. Branches are looked up only when the script
    says that one is complete."""
    bearer = await find_submitter(request)
    if bearer is None:
        raise Forbidden(LOGGED_OUT)
    texts = _read_texts(request)
    data = FormData(texts, _find_record(request, bearer, texts))
    ask = request_info_of(request.scope).form.text("look") == "branches"
    data = await _look(request, bearer, data, ask_outside=ask)
    return await render_fragment(request, "submit_preview.html", make_view, data)


# Finds the submitter, and fills in the form for the first time.


async def find_submitter(request: Request) -> Caller | None:
    """The logged-in user; None for a visitor."""
    return (
        await find_caller(request, site_of(request).bearers)
        if session_of(request.scope).user
        else None
    )


def lead_to_login(request: Request) -> Response:
    query = query_of(request.scope).decode("latin-1")
    here = f"{HERE}?{query}" if query else HERE
    return redirect_to(f"/login?next={quote(here)}")


async def _begin(request: Request, bearer: Caller) -> FormData:
    """The form as it is first shown, filled in from another run if the address names one."""
    query = request.query_params
    origin = query.get("clone") or query.get("id") or query.get("spsa") or ""
    if not origin:
        texts = await _begin_empty(request, bearer, query.get("engine", STOCKFISH.name))
    else:
        run = await site_of(request).visible_runs.find_part(origin, bearer.actor)
        if query.get("spsa") and run.kind.tune is not None:
            texts = spell_tuned(run, run.kind.tune)
        else:
            texts = {**spell_run(run), "rescheduled_from": run.id}
    texts |= {name: query[name][:LONGEST_GIVEN] for name in GIVEN if name in query}
    data = replace(await _gather(request, bearer, texts), origin=origin)
    preset = query.get("preset") or ("" if origin else _first_preset(data.record))
    return _apply_preset(data, preset)


async def _switch_engine(request: Request, bearer: Caller, texts: Texts) -> FormData:
    """The form for another engine. What the test is about is kept."""
    begun = await _begin_empty(request, bearer, texts.get("new_engine", ""))
    kept = {name: texts[name] for name in KEPT_BY_ENGINES if texts.get(name)}
    data = await _gather(request, bearer, {**begun, **kept})
    return _apply_preset(data, _first_preset(data.record))


def _first_preset(record: EngineRecord) -> str:
    return list_presets(record)[0].name


async def _begin_empty(request: Request, bearer: Caller, engine: str) -> dict[str, str]:
    record = _find_record(request, bearer, {"new_engine": engine})
    own = bearer.user.repositories.get(record.name, "")
    book = "UHO_Lichess_4852_v1.epd" if record.name == STOCKFISH.name else DEMO
    return begin_form(record, own, book)


def _find_record(request: Request, bearer: Caller, texts: Texts) -> EngineRecord:
    """The chosen engine. One that the person may not see is treated as if it did not exist."""
    known = site_of(request).privacy.catalogue(bearer.user.name).engines
    return known.get(texts.get("new_engine", "")) or known[STOCKFISH.name]


async def _gather(request: Request, bearer: Caller, texts: Texts) -> FormData:
    """Load what the page offers to choose from, with a fixed number of queries."""
    site, name = site_of(request), bearer.user.name
    kept = [
        book.name
        for book in await site.books.list_all()
        if site.file_access.may_see(name, book.name)
    ]
    programs = await site.programs.rows.list_of_user(name, MOST_PROGRAMS)
    return FormData(
        texts,
        _find_record(request, bearer, texts),
        tuple(sorted(site.privacy.catalogue(name).engines)),
        tuple(sorted({*kept, *site.books.official})),
        programs,
    )


async def _with_preset(request: Request, bearer: Caller, texts: Texts, name: str) -> FormData:
    return _apply_preset(await _gather(request, bearer, texts), name)


def _apply_preset(data: FormData, name: str) -> FormData:
    """The form with a preset applied. An unknown preset changes nothing."""
    preset = find_preset(data.record, name) if name else None
    if preset is None:
        return data
    return replace(data, texts={**apply_preset(data.texts, preset), "preset": preset.name})


def _read_texts(request: Request) -> dict[str, str]:
    """The typed texts. Browsers do not post unticked checkboxes."""
    form = request_info_of(request.scope).form
    return {**dict.fromkeys(SWITCHES, ""), **form.texts()}


# Submits the form, and shows each error beside its input.


async def _submit(request: Request, bearer: Caller, texts: Texts) -> Response:
    made = await submit_texts(request, bearer, pin_commits(texts))
    if not isinstance(made, CreatedRun):
        return await show_again(request, bearer, texts, made, 422)
    return redirect_to(f"/runs/{made.id}")


async def submit_texts(
    request: Request, bearer: Caller, texts: Texts
) -> CreatedRun | Mapping[str, str]:
    """Submit a form. Returns the new run, which the next page announces, or the errors by input."""
    try:
        created = await submit_run(site_of(request), read_submission_form(texts), bearer)
    except FAULTS as fault:
        return _place_fault(fault, texts)
    session = session_of(request.scope)
    session.flash("The test is submitted." + _waits(created))
    for warning in created.warnings[:3]:
        session.flash(f"{warning[:1].upper()}{warning[1:]}.")
    return created


def _place_fault(fault: Exception, texts: Texts) -> Mapping[str, str]:
    """All errors by input; those that belong to none have an empty name."""
    if isinstance(fault, WireFault):
        return place_faults(list_faults(fault), texts.get("kind", ""))
    return {"": BUSY if isinstance(fault, GateFull) else text_of(fault)}


async def show_again(
    request: Request, bearer: Caller, texts: Texts, errors: Mapping[str, str], status: int
) -> Response:
    """The form as it was typed, with its errors."""
    data = replace(await _gather(request, bearer, texts), errors=errors)
    return await _show(request, data, status)


async def _show_kept(
    request: Request, bearer: Caller, texts: Texts, said: str, status: int = 200
) -> Response:
    """The form as it was typed, with a new token and a message beside its button."""
    return await _show(request, replace(await _gather(request, bearer, texts), said=said), status)


def _waits(created: CreatedRun) -> str:
    return " An approver has to approve it." if created.state == "pending" else ""


async def _look(request: Request, bearer: Caller, data: FormData, *, ask_outside: bool) -> FormData:
    """The form with its preview, or with its errors."""
    site, texts = site_of(request), pin_commits(data.texts)
    try:
        asked = read_submission_form(texts)
        made = await prepare_preview(site, asked, bearer, ask_outside=ask_outside)
    except FAULTS as fault:
        return replace(data, errors=_place_fault(fault, texts))
    others = [
        run
        for run in await site.fleet.views.active()
        if run.status.approved and site.privacy.may_see(bearer.user.name, run)
    ]
    machines = await list_machines_now(site, bearer.user.name)
    earlier = await site.reviews.count_earlier(bearer.user.name)
    preview = PreviewData(made, machines, others, data.record, earlier, looked_up=ask_outside)
    return replace(data, preview=preview)


async def _show(request: Request, data: FormData, status: int = 200) -> Response:
    return await render_page_in_thread(request, "submit.html", make_view, data, status)


def make_view(data: FormData) -> SubmitView:
    """The view. A preview computes lengths, so call it in a thread."""
    return SubmitView(
        data,
        FORM.show(data.texts, data.errors, is_live=True),
        tuple(_make_choice(preset, data) for preset in list_presets(data.record)),
        view_preview(data.preview) if data.preview else None,
    )


def _make_choice(preset: PresetRecord, data: FormData) -> PresetChoice:
    texts = apply_preset({}, preset)
    return PresetChoice(
        preset.name,
        _summarise(texts),
        msgspec.json.encode(texts).decode(),
        data.texts.get("preset") == preset.name,
    )


def _summarise(texts: Texts) -> str:
    """A preset in a few words: 10+0.1, 8 threads, [0, 2]."""
    parts = [texts.get("tc", "")]
    if texts.get("threads", "1") != "1":
        parts.append(f"{texts['threads']} threads")
    if page := FORM_PAGES.get(texts.get("kind", "")):
        parts.append(page.summarise_fields(texts))
    return ", ".join(filter(None, parts))


def routes() -> list[BaseRoute]:
    return [
        Route(HERE, new_test, methods=["GET", "POST"]),
        Route(f"{HERE}/preview", preview_test, methods=["POST"]),
    ]
