"""Uploaded programs: list them, upload one, and use one in a new test."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.server.boundary.domains import Domain, runs
from rookery.server.files.api import keep_program
from rookery.server.files.uploaders import Uploader
from rookery.server.http.answers import site_of
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.faults import BadRequest
from rookery.server.http.multipart import read_file_form
from rookery.server.http.pages.page import redirect_to, render_page, viewer_of
from rookery.server.http.scope import PROGRAMS_PAGE, session_of

MOST_PROGRAMS = 200
FILE = "program"
LONGEST_NAME = 100
NO_NAME = "The file needs a name of at most 100 printable characters."


@runs(Domain.THREAD, "one query; pieces of a file are written and digested in threads")
async def my_programs(request: Request) -> Response:
    """GET lists the user's programs, POST stores another one."""
    viewer = await viewer_of(request)
    if viewer is None:
        return redirect_to(f"/login?next={PROGRAMS_PAGE}")
    show = partial(_show, request, viewer.name)
    if request.method != "POST":
        return await show()
    try:
        name = await _keep_posted(request, viewer.name)
    except REFUSALS as refused:
        return await show(text_of(refused), 422)
    session_of(request.scope).flash(f"{name} is uploaded.")
    return redirect_to(PROGRAMS_PAGE)


async def _show(request: Request, user: str, refusal: str = "", status: int = 200) -> Response:
    site = site_of(request)
    view = {
        "programs": await site.programs.rows.list_of_user(user, MOST_PROGRAMS),
        "engines": sorted(site.privacy.catalogue(user).engines),
        "now": site.clock.now(),
        # Why the last upload was not accepted.
        "refusal": refusal,
    }
    return await render_page(request, "programs.html", view, status)


async def _keep_posted(request: Request, user: str) -> str:
    """Store the posted program and return its name. Raises BadRequest, NotFound or BodyTooLarge."""
    site, form = site_of(request), await read_file_form(request, FILE)
    name, engine = form.file_name.strip(), form.fields.get("engine", "")
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadRequest(NO_NAME)
    site.file_access.check_engine(user, engine)
    await keep_program(site, Uploader(user, engine), name, form.pieces)
    return name


def routes() -> list[BaseRoute]:
    return [Route(PROGRAMS_PAGE, my_programs, methods=["GET", "POST"])]
