"""How a page is answered: the frame is gathered on the loop, the text is made in a thread."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from rookery.web.kit import kit_of
from rookery.web.rendering import frame_of
from rookery.web.scope import session_of

# What a page shows depends on who looks, and when.
_HEADERS = {"cache-control": "private, no-cache"}


async def page(request: Request, template: str, view: object, status: int = 200) -> HTMLResponse:
    """`view` is a frozen value that holds everything the template shows."""
    kit = kit_of(request)
    session = session_of(request.scope)
    frame = frame_of(session, session.take_flashes())
    text = await kit.house.threads.cpu(kit.templates.render, template, frame, view)
    return HTMLResponse(text, status, _HEADERS)


def go_to(path: str) -> RedirectResponse:
    """After a form: 302 is what scripts for the official server expect."""
    return RedirectResponse(path, 302)
