"""Makes sure that what changes something was meant by the person whose session it uses.

A page's post must carry the session's token, in the field `csrf_token` or in a header. A program's
call needs none, but is then treated as nobody's: the cookie alone gives it no rights.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.web.bodies import decoded, read_body
from rookery.web.faults import CsrfRefused
from rookery.web.forms import FORM_TYPE, parse_form
from rookery.web.kit import Kit
from rookery.web.paths import Audience
from rookery.web.scope import (
    facts_of,
    header,
    is_http,
    leads_somewhere,
    method_of,
    session_of,
    set_session,
)
from rookery.web.session import Session

FIELD = "csrf_token"
HEADER = b"x-csrf-token"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


@runs(Domain.LOOP, "reads small forms; large ones are taken apart in a thread")
class CsrfGuard:
    """Leaves the form it had to read in the request's facts, so that nobody reads it twice."""

    def __init__(self, app: ASGIApp, kit: Kit) -> None:
        self.app = app
        self._threads = kit.house.threads
        self._strangers_bytes = kit.house.limits.strangers_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_http(scope) and method_of(scope) not in _SAFE:
            audience = facts_of(scope).audience
            if audience is Audience.PERSON:
                receive = await self._checked(scope, receive)
            elif audience is Audience.PROGRAM:
                _forget_session_without_token(scope)
        await self.app(scope, receive, send)

    async def _checked(self, scope: Scope, receive: Receive) -> Receive:
        token = header(scope, HEADER)
        if header(scope, b"content-type").split(";")[0].strip().lower() == FORM_TYPE:
            # A form is read before it is known whose it is, but for what the session says.
            known = session_of(scope).user
            body = await read_body(receive, most=None if known else self._strangers_bytes)
            form = facts_of(scope).form = await decoded(body, parse_form, self._threads)
            token, receive = token or form.text(FIELD), _again(body, receive)
        if not session_of(scope).accepts(token) and leads_somewhere(scope):
            raise CsrfRefused
        return receive


def _forget_session_without_token(scope: Scope) -> None:
    token = header(scope, HEADER)
    if not token or not session_of(scope).accepts(token):
        set_session(scope, Session.empty())


def _again(body: bytes, receive: Receive) -> Receive:
    """Whoever reads the body inside finds it as if nobody had."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed
