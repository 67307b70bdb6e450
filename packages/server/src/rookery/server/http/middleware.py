"""The middleware of people's requests: error handling, HEAD, security headers, the session."""

import asyncio
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import answer_error, stopping_answer
from rookery.server.http.scope import (
    add_headers,
    as_get,
    header,
    is_http,
    method_of,
    remember_route,
    request_info_of,
    set_session,
    status_in,
)
from rookery.server.http.session import (
    KEPT,
    NOTHING,
    CookieRefused,
    Session,
    SessionData,
    clear_cookie,
    cookie_in,
    set_cookie,
)

if TYPE_CHECKING:
    from rookery.server.app.site import Site


@runs(Domain.LOOP, "shapes the answer; an error page is rendered in a thread")
class Errors:
    """Turns errors into answers. Once an answer has begun, the error is passed on and the HTTP
    server breaks off the connection."""

    def __init__(self, app: ASGIApp, site: "Site") -> None:
        self.app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_http(scope):
            await self.app(scope, receive, send)
            return
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = begun or status_in(message) is not None
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except asyncio.CancelledError:
            # The time for draining is over. The client is told that the server is stopping.
            if begun or not self._site.lifecycle.stopping:
                raise
            await stopping_answer()(scope, receive, send)
        except Exception as error:
            if begun:
                raise
            answer = await answer_error(error, scope, self._site)
            await answer(scope, receive, send)


# Answers HEAD wherever GET works: with the same answer without its body.


@runs(Domain.LOOP, "changes the method and drops the body")
class HeadRequests:
    """Calls the app with GET and drops the body. The HTTP server still sees HEAD in its own
    scope."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_http(scope) or method_of(scope) != "HEAD":
            await self.app(scope, receive, send)
            return
        inner = as_get(scope)
        try:
            await self.app(inner, receive, _without_body(send))
        finally:
            remember_route(scope, inner)


def _without_body(send: Send) -> Send:
    ended = False

    async def stripped(message: Message) -> None:
        nonlocal ended
        if ended:
            return
        if status_in(message) is None:
            # Nobody reads the body. A stream is told so, since it would never end by itself.
            ended = True
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await send(message)

    return stripped


# Sends headers that allow browsers what the pages need and forbid everything else.

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; "
    "script-src 'self'; "
    "style-src 'self'; "
    "img-src 'self' data:; "
    # The game viewer's style sheet contains its icon font as a data URL.
    "font-src 'self' data:; "
    "connect-src 'self'; "
    "form-action 'self'; "
    "base-uri 'none'; "
    "frame-ancestors 'none'"
)

HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


@runs(Domain.LOOP, "adds constant headers")
class SecurityHeaders:
    """Adds the headers for people and programs. Workers take the short path around this layer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_http(scope):
            await self.app(scope, receive, send)
            return

        async def adding(message: Message) -> None:
            if status_in(message) is not None:
                add_headers(message, HEADERS)
            await send(message)

        await self.app(scope, receive, adding)


# Reads the session from its cookie, and writes the cookie again when the session has changed.


@runs(Domain.LOOP, "checks and makes one signature over less than 4 kB, when asked for")
class SessionCookie:
    """A bad cookie gives an empty session and a log line, never an error."""

    def __init__(self, app: ASGIApp, site: "Site") -> None:
        self.app = app
        self._cookies = site.cookies
        self._log = site.log
        # HTTPS is also assumed if the public address says so and the proxy does not.
        self._https = (site.settings.base_url or "").startswith("https://")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_http(scope):
            await self.app(scope, receive, send)
            return
        session = self._session(scope)
        set_session(scope, session)

        async def saving(message: Message) -> None:
            if status_in(message) is not None and session.touched:
                add_headers(message, [(b"vary", b"cookie"), *self._saved(session, scope)])
            await send(message)

        await self.app(scope, receive, saving)

    def _session(self, scope: Scope) -> Session:
        def load() -> SessionData:
            value = cookie_in(header(scope, b"cookie"))
            return self._open(value, scope, session) if value else NOTHING

        session = Session(load, secure=self._https or request_info_of(scope).secure)
        return session

    def _open(self, value: str, scope: Scope, session: Session) -> SessionData:
        try:
            opened = self._cookies.open(value)
        except CookieRefused as refusal:
            info = request_info_of(scope)
            self._log.warning(
                "session_refused",
                why=str(refusal),
                bytes=len(value),
                client=info.client,
                request=info.request_id,
            )
            session.force_clear = True
            return NOTHING
        session.renew = opened.renew
        return opened.data

    def _saved(self, session: Session, scope: Scope) -> list[tuple[bytes, bytes]]:
        if session.data == NOTHING:
            wanted = session.force_clear or session.changed
            return [_header(clear_cookie(secure=session.secure))] if wanted else []
        if not session.changed:
            return []
        value = self._cookies.close_within(session.data)
        if value is None:
            self._log.error("session_too_large", request=request_info_of(scope).request_id)
            return [_header(clear_cookie(secure=session.secure))]
        return [_header(set_cookie(value, max_age=_max_age(session), secure=session.secure))]


def _max_age(session: Session) -> int | None:
    if session.max_age is not None:
        return session.max_age
    return int(KEPT.total_seconds()) if session.data.keep else None


def _header(value: bytes) -> tuple[bytes, bytes]:
    return (b"set-cookie", value)
