"""The short way for workers: past everything that is for browsers.

Workers have no sessions, cookies or forms, and call more often than everybody else together. So
their paths are looked up in a table, and what guards every other request in layers is done here in
one go: the layers alone would cost as much as the work itself.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.web.answers import answer_to, stopping
from rookery.web.faults import NotPrimary
from rookery.web.guards import HostCheck
from rookery.web.inventory import named_routes
from rookery.web.middleware import BROKEN_OFF, Account, Arrivals
from rookery.web.scope import Facts, is_http, path_of, set_facts, set_route
from rookery.web.site import Site
from rookery.web.worker_api.call import WorkerCall, send_json


@dataclass(frozen=True, slots=True)
class _Way:
    """Where a path leads, and under which name its loop time is kept."""

    name: str
    route: Route
    call: WorkerCall[Any]


@runs(Domain.LOOP, "one look into a table")
class ShortPath:
    """Everybody else goes the long way."""

    def __init__(self, app: ASGIApp, site: Site, routes: Sequence[Route], word: str) -> None:
        self.app = app
        self._site = site
        self._ways = {way.route.path: way for way in _ways(routes)}
        self._arrivals = Arrivals(site, word)
        self._account = Account(site)
        self._hosts = HostCheck(site)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        way = self._ways.get(path_of(scope)) if is_http(scope) else None
        if way is None:
            await self.app(scope, receive, send)
            return
        facts, status = self._arrivals.facts(scope), BROKEN_OFF
        set_facts(scope, facts)
        set_route(scope, way.route)
        self._account.came()
        try:
            status = await self._answer(way, facts, scope, receive, send)
        finally:
            self._account.left(scope, facts, status)

    async def _answer(
        self, way: _Way, facts: Facts, scope: Scope, receive: Receive, send: Send
    ) -> int:
        site = self._site
        named = (b"x-request-id", facts.request_id.encode())
        try:
            if site.lifecycle.stopping:
                return await _sent(stopping(), named, scope, receive, send)
            self._hosts.check(scope)
            if not site.is_primary():
                raise NotPrimary
            told = await site.meter.measure(way.name, way.call.answer(scope, receive))
        except asyncio.CancelledError:
            # The drain is over: the last that can be done for this client is to say so.
            if not site.lifecycle.stopping:
                raise
            return await _sent(stopping(), named, scope, receive, send)
        except Exception as error:  # noqa: BLE001 - whatever is raised becomes an answer
            answer = await answer_to(error, scope, self._site)
            return await _sent(answer, named, scope, receive, send)
        await send_json(send, *told, named)
        return told[0]


def _ways(routes: Sequence[Route]) -> Iterator[_Way]:
    for name, route in named_routes(list(routes)):
        if isinstance(route, Route) and isinstance(route.endpoint, WorkerCall):
            yield _Way(name, route, route.endpoint)


async def _sent(
    answer: Response, named: tuple[bytes, bytes], scope: Scope, receive: Receive, send: Send
) -> int:
    answer.raw_headers.append(named)
    await answer(scope, receive, send)
    return answer.status_code
