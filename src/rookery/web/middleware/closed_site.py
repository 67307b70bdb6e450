"""Shows a closed site to those alone who have an account on it.

People are led to the login, programs get a 401. Workers go on working: their calls carry their own
credentials, and what they fetch to play with is known by its hash, or is a private engine's and
guarded by itself.
"""

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.service.tokens import Scope as TokenScope
from rookery.web.api.v1.callers import visitor_of
from rookery.web.faults import Unauthorized
from rookery.web.kit import Kit
from rookery.web.paths import (
    HANDOUT_PREFIX,
    PROGRAM_PATHS,
    SIGN_UP_PATH,
    STATIC_PREFIX,
    TOKENS_PATH,
    WORKER_PATHS,
    Audience,
)
from rookery.web.scope import facts_of, is_http, method_of, path_of, session_of

OPEN = PROGRAM_PATHS | WORKER_PATHS | {"/login", "/logout", "/signup", TOKENS_PATH}
OPEN_PREFIXES = (STATIC_PREFIX, HANDOUT_PREFIX, "/api/nn/", "/api/book/", "/api/binary/", "/src/")


@runs(Domain.LOOP, "looks at the session, or at a token that is remembered")
class ClosedSite:
    """Lets everything through where the site is open."""

    def __init__(self, app: ASGIApp, kit: Kit) -> None:
        self.app = app
        self._closed = kit.house.login_to_view
        self._bearers = kit.house.api.bearers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        shut = self._closed and is_http(scope) and not _is_open(scope)
        if not shut or await self._is_known(scope):
            await self.app(scope, receive, send)
        elif facts_of(scope).audience is Audience.PERSON:
            await RedirectResponse(_login(scope), 303)(scope, receive, send)
        else:
            raise Unauthorized

    async def _is_known(self, scope: Scope) -> bool:
        if session_of(scope).user:
            return True
        bearer = await visitor_of(Request(scope), self._bearers)
        return bearer is not None and bearer.scopes != {TokenScope.WORKER}


def _is_open(scope: Scope) -> bool:
    path = path_of(scope)
    signing_up = path == SIGN_UP_PATH and method_of(scope) == "POST"
    return signing_up or path in OPEN or path.startswith(OPEN_PREFIXES)


def _login(scope: Scope) -> str:
    """A form that was sent can't be sent again by a link."""
    return f"/login?next={quote(path_of(scope))}" if method_of(scope) == "GET" else "/login"
