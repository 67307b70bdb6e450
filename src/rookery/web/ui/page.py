"""How a page is answered: what it shows is gathered on the loop, its text is made in a thread."""

from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from rookery.web.kit import kit_of
from rookery.web.rendering import Frame, Templates, frame_of
from rookery.web.scope import session_of

M = TypeVar("M")

# What a page shows depends on who looks, and when.
_HEADERS = {"cache-control": "private, no-cache"}


async def page(request: Request, template: str, view: object, status: int = 200) -> HTMLResponse:
    """`view` is a frozen value that holds everything the template shows."""
    return await made_page(request, template, _as_it_is, view, status)


async def made_page(
    request: Request, template: str, make: Callable[[M], object], material: M, status: int = 200
) -> HTMLResponse:
    """A page whose view is worth a thread: `make` turns what was loaded into it, there."""
    session = session_of(request.scope)
    frame = frame_of(session, session.take_flashes())
    return await _answer(request, template, frame, make, material, status)


async def made_fragment(
    request: Request, template: str, make: Callable[[M], object], material: M
) -> HTMLResponse:
    """The part of a page that moves, by itself; messages wait for the next whole page."""
    frame = frame_of(session_of(request.scope))
    return await _answer(request, template, frame, make, material, 200)


async def _answer(
    request: Request,
    template: str,
    frame: Frame,
    make: Callable[[M], object],
    material: M,
    status: int,
) -> HTMLResponse:
    kit = kit_of(request)
    text = await kit.house.threads.cpu(_made, kit.templates, template, frame, make, material)
    return HTMLResponse(text, status, _HEADERS)


def _made(
    templates: Templates, template: str, frame: Frame, make: Callable[[M], object], material: M
) -> str:
    return templates.render(template, frame, make(material))


def _as_it_is(view: object) -> object:
    return view


def address_of(request: Request) -> str:
    """Where people and machines reach this server, without a slash at its end."""
    return kit_of(request).house.base_url or str(request.base_url).rstrip("/")


def go_to(path: str) -> RedirectResponse:
    """After a form: 302 is what scripts for the official server expect."""
    return RedirectResponse(path, 302)
