"""Accepts fishtest's forms as scripts post them: at its addresses, with its field names, answered
by a redirect with 302.

Scripts log in by the form of the login page, read the token `csrf_token` from the page of the form,
and post. The same use cases as for other forms and for the API do the work.
"""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.model.actor import Actor
from rookery.core.protocol.v1 import CreatedRun, NetEntry
from rookery.server.boundary.domains import Domain
from rookery.server.engines.privacy import Privacy
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.files.uploaders import GivenFiles
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.form import TICKED
from rookery.server.http.multipart import read_file_form
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import UPLOAD_PATH, Form
from rookery.server.http.session import Session
from rookery.server.identity.bearers import Bearers
from rookery.server.runs.run.commands import COMMANDS, RunButtons
from rookery.server.runs.submit.inputs import INPUTS
from rookery.server.runs.submit.page import NewTest, find_submitter, lead_to_login, new_test

pages = Pages(UPLOAD_PATH)
RUN_FORM = "/tests/run"
LIST = "/tests"
NAMES: Mapping[str, str] = {
    "tests-repo": "tests_repo",
    "test-branch": "new_tag",
    "base-branch": "base_tag",
    "test-signature": "new_signature",
    "base-signature": "base_signature",
    "new-options": "new_options",
    "base-options": "base_options",
    "run-info": "info",
    "num-games": "num_games",
    "sprt_elo0": "sprt.elo0",
    "sprt_elo1": "sprt.elo1",
    "spsa_A": "spsa.A",
    "spsa_alpha": "spsa.alpha",
    "spsa_gamma": "spsa.gamma",
    "spsa_raw_params": "spsa.raw_params",
    "book-depth": "book_depth",
    **{name: name for name in ("threads", "tc", "priority", "throughput", "book")},
    **{name: name for name in ("resolved_base", "resolved_new", "msg_base", "msg_new")},
    "rescheduled_from": "rescheduled_from",
}
"""The names of inputs here, by fishtest's names."""
ONLY_MODEL = "normalized"
BAD_MODEL = "Only normalized bounds are supported here (elo_model=normalized)."
ONLY_ALGORITHM = "classic"
BAD_ALGORITHM = "Only the classic algorithm is supported here (spsa_algorithm=classic)."
NO_RUN = "There is no test with this id."


pages = Pages()
routes = pages.make_routes


@pages(f"GET|POST {RUN_FORM}", "looks up branches; a page is made in a thread", needs_primary=True)
async def run_form(page: NewTest, form: Form) -> Page | Response:
    """GET returns a form to read the token from, POST submits a test."""
    if page.request.method != "POST":
        return await new_test(page)
    bearer = await page.find_submitter()
    if bearer is None:
        return lead_to_login(page.request)
    texts = translate_form(form)
    # fishtest answers with its form, an error above it and status 200.
    if refusal := _refuse_method(form, texts["kind"]):
        return await page.show_again(bearer, texts, {"": refusal}, 200)
    made = await page.submit(bearer, texts)
    if isinstance(made, CreatedRun):
        return redirect_to(f"/tests/view/{made.id}?follow=1")
    return await page.show_again(bearer, texts, made, 200)


def _refuse_method(form: Form, kind: str) -> str:
    """Why a form's method of testing or tuning is not supported; empty if it is."""
    if kind == "sprt" and form.text("elo_model") not in ("", ONLY_MODEL):
        return BAD_MODEL
    if kind == "spsa" and form.text("spsa_algorithm") not in ("", ONLY_ALGORITHM):
        return BAD_ALGORITHM
    return ""


def translate_form(form: Form) -> dict[str, str]:
    """fishtest's form with the field names used here. A posted checkbox is ticked; that of
    `adjudication` means none."""
    texts = {ours: form.text(theirs) for theirs, ours in NAMES.items() if ours in INPUTS}
    rule = form.text("stop_rule")
    texts["kind"] = rule if rule in ("sprt", "spsa") else "games"
    if texts["kind"] == "sprt":
        # fishtest's form always posts this number, which applies to other kinds of tests.
        texts["num_games"] = ""
    texts["new_tc"] = form.text("new_tc") if _is_posted(form, "odds") else ""
    texts["auto_purge"] = TICKED if _is_posted(form, "auto-purge") else ""
    texts["adjudication"] = "" if _is_posted(form, "adjudication") else TICKED
    for theirs, ours in (("arch-filter", "arch_filter"), ("compiler", "compiler")):
        texts[ours] = form.text(theirs) if _is_posted(form, f"checkbox-{theirs}") else ""
    return texts


def _is_posted(form: Form, name: str) -> bool:
    return any(key == name for key, _ in form.fields)


# The commands on a run, which fishtest has at one address each.


async def press_button(
    request: Request, viewer: Actor | None, visible: VisibleRuns, buttons: RunButtons
) -> Response:
    """Stop, approve, purge, delete or modify the run that the form names."""
    if viewer is None:
        return redirect_to("/login")
    name, form = request.url.path.rpartition("/")[2], buttons.form
    try:
        run = await visible.find_part(form.text(BUTTONS[name]), viewer)
    except REFUSALS:
        buttons.session.flash(NO_RUN, "error")
        return redirect_to(LIST)
    if refused := await buttons.press(COMMANDS[name], run, viewer):
        buttons.session.flash(text_of(refused), "error")
    return redirect_to(LIST)


BUTTONS: Mapping[str, str] = {
    **dict.fromkeys(("stop", "approve", "purge", "delete"), "run-id"),
    "modify": "run",
}
"""The input with the run's id, by command."""
for button in BUTTONS:
    pages(
        f"POST {LIST}/{button}",
        "changes memory and awaits the commit; a purge reads the tasks",
        where=Domain.LOOP,
        needs_primary=True,
    )(press_button)


# Uploading a net by a form.

NET_FIELD = "network"
NETS = "/nets"


@pages(f"GET|POST {UPLOAD_PATH}", "pieces are digested, packed and written in threads")
async def upload_form(
    request: Request, session: Session, bearers: Bearers, given: GivenFiles, privacy: Privacy
) -> Page | Response:
    """GET returns the form, POST stores the net."""
    bearer = await find_submitter(request, session, bearers)
    if bearer is None:
        return redirect_to(f"/login?next={UPLOAD_PATH}")
    view = {"engines": _list_net_engines(privacy, bearer.user.name), "refusal": ""}
    if request.method != "POST":
        return Page("upload.html", view)
    try:
        kept = await _keep_posted_net(request, bearer.user.name, given)
    except REFUSALS as refused:
        return Page("upload.html", {**view, "refusal": text_of(refused)}, 422)
    session.flash(f"{kept.name} is uploaded.")
    return redirect_to(NETS)


def _list_net_engines(privacy: Privacy, user: str) -> tuple[str, ...]:
    known = privacy.catalogue(user).engines.values()
    return tuple(sorted(record.name for record in known if record.nets.use != "none"))


async def _keep_posted_net(request: Request, user: str, given: GivenFiles) -> NetEntry:
    """Store the posted net. Raises BadRequest, NotFound or BodyTooLarge."""
    form = await read_file_form(request, NET_FIELD)
    uploader = given.find_uploader(user, form.fields.get("engine", ""))
    return await given.keep_net(uploader, form.file_name, form.pieces)
