"""Turns requests away while the process stops; probes may still ask."""

from starlette.types import ASGIApp, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.web.answers import stopping
from rookery.web.kit import Kit
from rookery.web.paths import PROBE_PATHS
from rookery.web.scope import is_http, path_of


@runs(Domain.LOOP, "reads one flag")
class ShutdownGuard:
    """The text is no JSON, so that a worker tries again instead of giving up."""

    def __init__(self, app: ASGIApp, kit: Kit) -> None:
        self.app = app
        self._lifecycle = kit.house.lifecycle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._lifecycle.stopping and is_http(scope) and path_of(scope) not in PROBE_PATHS:
            await stopping()(scope, receive, send)
        else:
            await self.app(scope, receive, send)
