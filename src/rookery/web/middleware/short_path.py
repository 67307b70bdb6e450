"""The short way for workers: past everything that is for browsers.

Workers have no sessions, cookies or forms, and call more often than everybody else together. Their
paths are looked up in a table and pass only what guards every request.
"""

from collections.abc import Iterable

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.web.kit import Kit
from rookery.web.middleware.errors import Errors
from rookery.web.middleware.limits import RequestLimits
from rookery.web.middleware.measure import Measure
from rookery.web.middleware.primary_guard import PrimaryGuard
from rookery.web.middleware.request_state import RequestState
from rookery.web.middleware.shutdown_guard import ShutdownGuard
from rookery.web.scope import is_http, path_of, set_route


@runs(Domain.LOOP, "one look into a table")
class ShortPath:
    """Everybody else goes the long way."""

    def __init__(self, app: ASGIApp, kit: Kit, routes: Iterable[Route], word: str) -> None:
        self.app = app
        self._routes = {route.path: route for route in routes}
        limited = RequestLimits(PrimaryGuard(self._arrive, kit), kit)
        guarded = Errors(ShutdownGuard(limited, kit), kit)
        self._short = RequestState(Measure(guarded, kit), kit, word)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_http(scope) and path_of(scope) in self._routes:
            await self._short(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _arrive(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._routes[path_of(scope)]
        set_route(scope, route)
        await route.app(scope, receive, send)
