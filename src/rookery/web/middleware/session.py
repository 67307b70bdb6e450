"""Brings the session from its cookie into the request, and back into a cookie when it changed."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.web.cookie import KEPT, CookieRefused, clear_cookie, cookie_in, set_cookie
from rookery.web.kit import Kit
from rookery.web.paths import Audience
from rookery.web.scope import (
    add_headers,
    facts_of,
    header,
    is_http,
    set_session,
    status_in,
)
from rookery.web.session import NOTHING, Session, SessionData


@runs(Domain.LOOP, "checks and makes one signature over less than 4 kB, when asked for")
class SessionCookie:
    """Workers have no sessions. A bad cookie is an empty session and a log line, never an error."""

    def __init__(self, app: ASGIApp, kit: Kit) -> None:
        self.app = app
        self._seal = kit.seal
        self._log = kit.house.log
        # Also where the proxy in front does not say so.
        self._https = (kit.house.base_url or "").startswith("https://")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_http(scope) or facts_of(scope).audience is Audience.WORKER:
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

        session = Session(load, secure=self._https or facts_of(scope).secure)
        return session

    def _open(self, value: str, scope: Scope, session: Session) -> SessionData:
        try:
            unsealed = self._seal.open(value)
        except CookieRefused as refusal:
            facts = facts_of(scope)
            self._log.warning(
                "session_refused",
                why=str(refusal),
                bytes=len(value),
                client=facts.client,
                request=facts.request_id,
            )
            session.force_clear = True
            return NOTHING
        session.renew = unsealed.renew
        return unsealed.data

    def _saved(self, session: Session, scope: Scope) -> list[tuple[bytes, bytes]]:
        if session.data == NOTHING:
            wanted = session.force_clear or session.changed
            return [_header(clear_cookie(secure=session.secure))] if wanted else []
        if not session.changed:
            return []
        value = self._seal.close_within(session.data)
        if value is None:
            self._log.error("session_too_large", request=facts_of(scope).request_id)
            return [_header(clear_cookie(secure=session.secure))]
        return [_header(set_cookie(value, max_age=_max_age(session), secure=session.secure))]


def _max_age(session: Session) -> int | None:
    if session.max_age is not None:
        return session.max_age
    return int(KEPT.total_seconds()) if session.data.keep else None


def _header(value: bytes) -> tuple[bytes, bytes]:
    return (b"set-cookie", value)
