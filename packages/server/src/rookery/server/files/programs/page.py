"""Uploaded programs: list them, upload one, and use one in a new test."""

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.model.actor import Actor
from rookery.server.engines.privacy import Privacy
from rookery.server.files.uploaders import GivenFiles
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.faults import BadRequest
from rookery.server.http.multipart import read_file_form
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import PROGRAMS_PAGE
from rookery.server.http.session import Session

MOST_PROGRAMS = 200
FILE = "program"
LONGEST_NAME = 100
NO_NAME = "The file needs a name of at most 100 printable characters."


pages = Pages(PROGRAMS_PAGE)
routes = pages.make_routes


@pages(f"GET {PROGRAMS_PAGE}", "one query, rendered in a thread")
async def my_programs(viewer: Actor, given: GivenFiles, privacy: Privacy) -> Page:
    return await _show(viewer.name, given, privacy)


@pages(f"POST {PROGRAMS_PAGE}", "pieces of a file are written and digested in threads")
async def upload_program(
    request: Request, viewer: Actor, given: GivenFiles, privacy: Privacy, session: Session
) -> Page | Response:
    try:
        name = await _keep_posted(request, viewer.name, given)
    except REFUSALS as refused:
        return await _show(viewer.name, given, privacy, text_of(refused))
    session.flash(f"{name} is uploaded.")
    return redirect_to(PROGRAMS_PAGE)


async def _show(user: str, given: GivenFiles, privacy: Privacy, refusal: str = "") -> Page:
    """`refusal` says why the last upload was not accepted."""
    shown = {
        "programs": await given.programs.rows.list_of_user(user, MOST_PROGRAMS),
        "engines": sorted(privacy.catalogue(user).engines),
        "now": given.clock.now(),
        "refusal": refusal,
    }
    return Page("programs.html", shown, 422 if refusal else 200)


async def _keep_posted(request: Request, user: str, given: GivenFiles) -> str:
    """Store the posted program and return its name. Raises BadRequest, NotFound or BodyTooLarge."""
    form = await read_file_form(request, FILE)
    name = form.file_name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadRequest(NO_NAME)
    uploader = given.find_uploader(user, form.fields.get("engine", ""))
    await given.keep_program(uploader, name, form.pieces)
    return name
