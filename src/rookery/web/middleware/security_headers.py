"""Tells browsers what the pages need, which is little, and to forbid the rest."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.web.paths import Audience
from rookery.web.scope import add_headers, facts_of, is_http, status_in

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; "
    "script-src 'self'; "
    "style-src 'self'; "
    "img-src 'self' data:; "
    "font-src 'self'; "
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
    """Workers are no browsers and are spared the bytes."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_http(scope) or facts_of(scope).audience is Audience.WORKER:
            await self.app(scope, receive, send)
            return

        async def adding(message: Message) -> None:
            if status_in(message) is not None:
                add_headers(message, HEADERS)
            await send(message)

        await self.app(scope, receive, adding)
