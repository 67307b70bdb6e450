"""Answers pages: data is loaded on the loop, and the text is rendered in a thread."""

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from rookery.core.model.actor import Actor
from rookery.core.model.run import Run
from rookery.server.http.answers import site_of
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.fragments import RenderedPart, make_part
from rookery.server.http.packing import pack, takes_gzip
from rookery.server.http.rendering import Frame, Templates, frame_of, theme_in
from rookery.server.http.scope import session_of
from rookery.server.http.session import Session
from rookery.server.identity.users import User, is_approver

if TYPE_CHECKING:
    from rookery.server.app.site import Site

M = TypeVar("M")
NOBODYS_FRAME = Frame()

# A page's content depends on the viewer and the time.
_HEADERS = {"cache-control": "private, no-cache"}
_PACKED = {"content-encoding": "gzip", "vary": "accept-encoding"}


async def render_page(
    request: Request, template: str, view: object, status: int = 200
) -> HTMLResponse:
    """Render a page. `view` holds the values that the template shows: a mapping, or a frozen
    value."""
    return await render_page_in_thread(request, template, keep, view, status)


async def render_page_in_thread(
    request: Request, template: str, make: Callable[[M], object], data: M, status: int = 200
) -> HTMLResponse:
    """Render a page whose view is expensive: `make` computes it from the loaded data in the
    thread."""
    frame = await make_frame(request)
    return await _render_in_thread(request, template, frame, make, data, status)


async def render_fixed_page(
    request: Request, template: str, make: Callable[[M], object], data: M, key: Hashable
) -> HTMLResponse:
    """Render a page that depends on `key` and its frame alone. Visitors share one rendering, so
    that nobody keeps the threads busy by asking for an expensive page again and again."""
    frame = await make_frame(request)
    if frame.user or frame.flashes:
        return await _render_in_thread(request, template, frame, make, data, 200)
    return await render_fixed_part(request, template, make, data, key, frame)


async def render_fixed_part(
    request: Request,
    template: str,
    make: Callable[[M], object],
    data: M,
    key: Hashable,
    frame: Frame = NOBODYS_FRAME,
) -> HTMLResponse:
    """Render a part that depends on `key` alone, shared by everybody."""
    site = site_of(request)
    render = partial(render_part, site, template, make, data, frame=frame)
    part = await site.shared_parts.find_fixed((template, frame, key), render)
    return answer_part(request, part)


async def render_fragment(
    request: Request, template: str, make: Callable[[M], object], data: M
) -> HTMLResponse:
    """Render the live part of a page alone. Messages stay for the next whole page."""
    frame = frame_of(session_of(request.scope))
    return await _render_in_thread(request, template, frame, make, data, 200)


async def make_frame(request: Request) -> Frame:
    """The frame of a whole page. The messages in it are not shown again."""
    session, site = session_of(request.scope), site_of(request)
    theme = theme_in(request.headers.get("cookie", ""))
    frame = frame_of(session, session.take_flashes(), theme)
    frame = replace(frame, path=request.url.path)
    if not (session.user and await _is_approver(site, session.user)):
        return frame
    waiting = await site.approvals.count_for(session.user)
    return replace(
        frame, approver=True, waiting_runs=waiting.runs, waiting_accounts=waiting.accounts
    )


async def _is_approver(site: "Site", name: str) -> bool:
    """Whether the user is an approver. False if the database is unavailable, so that the page can
    still be shown."""
    try:
        return await site.sessions.is_approver(name)
    except Exception as error:
        if site.is_outage(error):
            return False
        raise


async def _render_in_thread(
    request: Request,
    template: str,
    frame: Frame,
    make: Callable[[M], object],
    data: M,
    status: int,
) -> HTMLResponse:
    site = site_of(request)
    packed = takes_gzip(request.headers.get("accept-encoding", ""))
    render = partial(_render, packed=packed)
    body = await site.threads.cpu(render, site.templates, template, frame, make, data)
    return HTMLResponse(body, status, {**_HEADERS, **(_PACKED if packed else {})})


def _render(
    templates: Templates,
    template: str,
    frame: Frame,
    make: Callable[[M], object],
    data: M,
    *,
    packed: bool,
) -> bytes:
    """The encoded page, compressed in the same thread if the browser accepts that."""
    body = templates.render(template, frame, make(data)).encode()
    return pack(body) if packed else body


# Live parts of pages, shared by all who may see the same (web/fragments.py).


async def render_part(
    site: "Site",
    template: str,
    make: Callable[[M], object],
    data: M,
    facts: object = None,
    frame: Frame = NOBODYS_FRAME,
) -> RenderedPart:
    """Render a part that many viewers share. It must not contain anything personal; its frame is
    that of a visitor without messages."""
    return await site.threads.cpu(render_shared, site.templates, template, frame, make, data, facts)


def render_shared(
    templates: Templates,
    template: str,
    frame: Frame,
    make: Callable[[M], object],
    data: M,
    facts: object,
) -> RenderedPart:
    """The work of `render_part`, to be done in a thread."""
    return make_part(templates.render(template, frame, make(data)), facts)


def answer_part(request: Request, part: RenderedPart) -> HTMLResponse:
    """Answer a page's script with a part."""
    if takes_gzip(request.headers.get("accept-encoding", "")):
        return HTMLResponse(part.packed, 200, {**_HEADERS, **_PACKED})
    return HTMLResponse(part.text, 200, _HEADERS)


def keep(view: object) -> object:
    """What was loaded is what the template shows."""
    return view


def redirect_to(path: str) -> RedirectResponse:
    """The redirect after a form, with 302, which scripts for the official server expect."""
    return RedirectResponse(path, 302)


async def tell_outcome(session: Session, work: Awaitable[str]) -> bool:
    """Do what a form asks for, and keep the message that it returns, or its refusal, for the next
    page. Returns whether it was done."""
    try:
        session.flash(await work)
    except REFUSALS as refused:
        session.flash(text_of(refused), "error")
        return False
    return True


# The viewer of a page, and the runs that they may see.


async def account_of(request: Request) -> User | None:
    """The viewer's account; None for a visitor who is not logged in."""
    name = session_of(request.scope).user
    return await site_of(request).users.by_name(name) if name else None


async def viewer_of(request: Request) -> Actor | None:
    """The viewer; None for a visitor who is not logged in."""
    user = await account_of(request)
    return None if user is None else Actor(user.name, approver=is_approver(user))


async def find_run_for(viewer: Actor | None, request: Request) -> Run:
    """The run in the address. Raises NotFound if this person may not see it.

    Deleted runs are hidden from lists, but not from people who know their id.
    """
    run_id = str(request.path_params["run_id"])
    return await site_of(request).visible_runs.find_part(run_id, viewer)
