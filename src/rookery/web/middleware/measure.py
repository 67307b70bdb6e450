"""Counts and times every answer by route, names the request in it, and logs it where wanted."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.web.kit import Kit
from rookery.web.scope import (
    Facts,
    add_headers,
    facts_of,
    is_http,
    method_of,
    path_of,
    status_in,
    template_of,
)

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BROKEN_OFF = 0


class Account:
    """What becomes of requests: counted by route, and a log line for each where wanted."""

    def __init__(self, kit: Kit) -> None:
        self._house = kit.house
        self._traffic = kit.traffic

    def came(self) -> None:
        self._traffic.inside += 1

    def left(self, scope: Scope, facts: Facts, status: int) -> None:
        self._traffic.inside -= 1
        seconds = self._house.clock.seconds() - facts.started
        method = method_of(scope)
        # Anybody can invent methods, but not counters.
        counted = method if method in _METHODS else "other"
        self._traffic.note(template_of(scope), counted, status, seconds)
        if self._house.access_log:
            self._house.log.info(
                "request",
                method=method,
                path=path_of(scope),
                status=status,
                ms=round(seconds * 1000, 3),
                client=facts.client,
                request=facts.request_id,
            )


@runs(Domain.LOOP, "two clock readings and a counter")
class Measure:
    """Also sees answers that other middleware gave."""

    def __init__(self, app: ASGIApp, kit: Kit) -> None:
        self.app = app
        self._account = Account(kit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_http(scope):
            await self.app(scope, receive, send)
            return
        facts, status = facts_of(scope), BROKEN_OFF

        async def noting(message: Message) -> None:
            nonlocal status
            started = status_in(message)
            if started is not None:
                status = started
                add_headers(message, [(b"x-request-id", facts.request_id.encode())])
            await send(message)

        self._account.came()
        try:
            await self.app(scope, receive, noting)
        finally:
            self._account.left(scope, facts, status)
