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

from rookery.core.books import DEMO
from rookery.core.boundary.errors import GateFull
from rookery.core.model.engine import STOCKFISH, EngineRecord, PresetRecord
from rookery.core.model.presets import find_preset, list_presets
from rookery.core.protocol.checks import list_faults
from rookery.core.protocol.codec import WireFault
from rookery.core.protocol.v1 import CreatedRun
from rookery.server.engines.privacy import Privacy
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.files.access import FileAccess
from rookery.server.files.books import BookStore
from rookery.server.files.engine_files import ProgramStore, StoredProgram
from rookery.server.http.callers import find_caller
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.faults import Forbidden
from rookery.server.http.form import ShownForm, Texts
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import NEW_TEST_PATH, Form, RequestInfo, query_of
from rookery.server.http.session import Session
from rookery.server.http.signatures import Parts
from rookery.server.identity.bearers import Bearers, Caller
from rookery.server.runs.submissions import Submissions
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
from rookery.server.show.kinds import FORM_PAGES
from rookery.server.sources.reviews import Reviews

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


pages = Pages()
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class NewTest(Parts):
    """The form of a new test, with what it is filled in from and submitted to."""

    request: Request
    info: RequestInfo
    session: Session
    bearers: Bearers
    books: BookStore
    file_access: FileAccess
    privacy: Privacy
    programs: ProgramStore
    reviews: Reviews
    submissions: Submissions
    visible: VisibleRuns

    async def find_submitter(self) -> Caller | None:
        """The logged-in user; None for a visitor."""
        return await find_submitter(self.request, self.session, self.bearers)

    # The form is filled in for the first time.

    async def begin(self, bearer: Caller) -> FormData:
        """The form as it is first shown, filled in from another run if the address names one."""
        query = self.request.query_params
        origin = query.get("clone") or query.get("id") or query.get("spsa") or ""
        if not origin:
            texts = self._begin_empty(bearer, query.get("engine", STOCKFISH.name))
        else:
            run = await self.visible.find_part(origin, bearer.actor)
            if query.get("spsa") and run.kind.tune is not None:
                texts = spell_tuned(run, run.kind.tune)
            else:
                texts = {**spell_run(run), "rescheduled_from": run.id}
        texts |= {name: query[name][:LONGEST_GIVEN] for name in GIVEN if name in query}
        data = replace(await self.gather(bearer, texts), origin=origin)
        preset = query.get("preset") or ("" if origin else _first_preset(data.record))
        return _apply_preset(data, preset)

    async def switch_engine(self, bearer: Caller, texts: Texts) -> FormData:
        """The form for another engine. What the test is about is kept."""
        begun = self._begin_empty(bearer, texts.get("new_engine", ""))
        kept = {name: texts[name] for name in KEPT_BY_ENGINES if texts.get(name)}
        data = await self.gather(bearer, {**begun, **kept})
        return _apply_preset(data, _first_preset(data.record))

    def _begin_empty(self, bearer: Caller, engine: str) -> dict[str, str]:
        record = self.find_record(bearer, {"new_engine": engine})
        own = bearer.user.repositories.get(record.name, "")
        book = "UHO_Lichess_4852_v1.epd" if record.name == STOCKFISH.name else DEMO
        return begin_form(record, own, book)

    def find_record(self, bearer: Caller, texts: Texts) -> EngineRecord:
        """The chosen engine. One that the person may not see is treated as if it did not exist."""
        known = self.privacy.catalogue(bearer.user.name).engines
        return known.get(texts.get("new_engine", "")) or known[STOCKFISH.name]

    async def gather(self, bearer: Caller, texts: Texts) -> FormData:
        """Load what the page offers to choose from, with a fixed number of queries."""
        name, may_see = bearer.user.name, self.file_access.may_see
        kept = [book.name for book in await self.books.list_all() if may_see(name, book.name)]
        return FormData(
            texts,
            self.find_record(bearer, texts),
            tuple(sorted(self.privacy.catalogue(name).engines)),
            tuple(sorted({*kept, *self.books.official})),
            await self.programs.rows.list_of_user(name, MOST_PROGRAMS),
        )

    # The form is previewed or submitted.

    async def look(self, bearer: Caller, data: FormData, *, ask_outside: bool) -> FormData:
        """The form with its preview, or with its errors."""
        texts, submissions, name = pin_commits(data.texts), self.submissions, bearer.user.name
        try:
            asked = read_submission_form(texts)
            made = await submissions.prepare_preview(asked, bearer, ask_outside=ask_outside)
        except FAULTS as fault:
            return replace(data, errors=_place_fault(fault, texts))
        active = await self.visible.list_active(name)
        others = [run for run in active if run.status.approved]
        machines = await submissions.list_machines_now(name)
        earlier = await self.reviews.count_earlier(name)
        preview = PreviewData(made, machines, others, data.record, earlier, looked_up=ask_outside)
        return replace(data, preview=preview)

    async def submit(self, bearer: Caller, texts: Texts) -> CreatedRun | Mapping[str, str]:
        """Submit a form. Returns the new run, which the next page announces, or the errors by
        input."""
        try:
            created = await self.submissions.submit(read_submission_form(texts), bearer)
        except FAULTS as fault:
            return _place_fault(fault, texts)
        self.session.flash("The test is submitted." + _waits(created))
        for warning in created.warnings[:3]:
            self.session.flash(f"{warning[:1].upper()}{warning[1:]}.")
        return created

    async def show_again(
        self, bearer: Caller, texts: Texts, errors: Mapping[str, str], status: int
    ) -> Page:
        """The form as it was typed, with its errors."""
        return _show(replace(await self.gather(bearer, texts), errors=errors), status)

    async def show_kept(self, bearer: Caller, texts: Texts, said: str, status: int = 200) -> Page:
        """The form as it was typed, with a new token and a message beside its button."""
        return _show(replace(await self.gather(bearer, texts), said=said), status)


@pages(
    f"GET|POST {HERE}",
    "a fixed number of queries, a look at branches, the page in a thread",
    needs_primary=True,
)
async def new_test(page: NewTest) -> Page | Response:
    """The form. A post submits it, previews it or applies a preset. A post without the session's
    token only shows what was typed."""
    bearer, info = await page.find_submitter(), page.info
    if page.request.method != "POST":
        if bearer is None:
            return lead_to_login(page.request)
        return _show(replace(await page.begin(bearer), fresh=True))
    if bearer is None:
        return Page("submit_kept.html", keep_form(info.form.fields), 403)
    texts = _read_texts(info.form)
    if info.unproven:
        return await page.show_kept(bearer, texts, EXPIRED, 403)
    return await _act(page, bearer, texts)


async def _act(page: NewTest, bearer: Caller, texts: Texts) -> Page | Response:
    """Do what the pressed button says."""
    form = page.info.form
    if form.text("do") == "again":
        return await page.show_kept(bearer, texts, BACK)
    if wanted := form.text("use"):
        return _show(_apply_preset(await page.gather(bearer, texts), wanted))
    if form.text("do") == "submit":
        made = await page.submit(bearer, pin_commits(texts))
        if isinstance(made, CreatedRun):
            return redirect_to(f"/runs/{made.id}")
        return await page.show_again(bearer, texts, made, 422)
    if form.text("do") == "switch":
        return _show(await page.switch_engine(bearer, texts))
    data = await page.gather(bearer, texts)
    return _show(await page.look(bearer, data, ask_outside=True))


@pages(f"POST {HERE}/preview", "lengths are worked out in a thread")
async def preview_test(page: NewTest, form: Form) -> Page:
    """The panel beside the form while somebody types. Branches are looked up only when the script
    says that one is complete."""
    bearer = await page.find_submitter()
    if bearer is None:
        raise Forbidden(LOGGED_OUT)
    texts = _read_texts(form)
    data = FormData(texts, page.find_record(bearer, texts))
    data = await page.look(bearer, data, ask_outside=form.text("look") == "branches")
    return Page("submit_preview.html", data, make=make_view, is_part=True)


async def find_submitter(request: Request, session: Session, bearers: Bearers) -> Caller | None:
    """The logged-in user; None for a visitor."""
    return await find_caller(request, bearers) if session.user else None


def lead_to_login(request: Request) -> Response:
    query = query_of(request.scope).decode("latin-1")
    here = f"{HERE}?{query}" if query else HERE
    return redirect_to(f"/login?next={quote(here)}")


def _first_preset(record: EngineRecord) -> str:
    return list_presets(record)[0].name


def _apply_preset(data: FormData, name: str) -> FormData:
    """The form with a preset applied. An unknown preset changes nothing."""
    preset = find_preset(data.record, name) if name else None
    if preset is None:
        return data
    return replace(data, texts={**apply_preset(data.texts, preset), "preset": preset.name})


def _read_texts(form: Form) -> dict[str, str]:
    """The typed texts. Browsers do not post unticked checkboxes."""
    return {**dict.fromkeys(SWITCHES, ""), **form.texts()}


def _place_fault(fault: Exception, texts: Texts) -> Mapping[str, str]:
    """All errors by input; those that belong to none have an empty name."""
    if isinstance(fault, WireFault):
        return place_faults(list_faults(fault), texts.get("kind", ""))
    return {"": BUSY if isinstance(fault, GateFull) else text_of(fault)}


def _waits(created: CreatedRun) -> str:
    return " An approver has to approve it." if created.state == "pending" else ""


def _show(data: FormData, status: int = 200) -> Page:
    return Page("submit.html", data, status, make=make_view)


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
