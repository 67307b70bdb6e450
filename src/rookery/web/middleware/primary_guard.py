"""Turns worker calls away from a process that is not the primary."""

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.web.kit import Kit
from rookery.web.paths import Audience
from rookery.web.scope import facts_of, is_http


@runs(Domain.LOOP, "reads one flag")
class PrimaryGuard:
    """The text is no JSON, so that a worker tries again instead of giving up."""

    def __init__(self, app: ASGIApp, kit: Kit) -> None:
        self.app = app
        self._is_primary = kit.house.is_primary

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_http(scope) and self._misdirected(scope):
            await _elsewhere()(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _misdirected(self, scope: Scope) -> bool:
        return facts_of(scope).audience is Audience.WORKER and not self._is_primary()


def _elsewhere() -> PlainTextResponse:
    text = "This server is not the primary. Try again in a moment.\n"
    return PlainTextResponse(text, 503, {"retry-after": "5"})
