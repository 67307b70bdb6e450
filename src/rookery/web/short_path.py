r"""The short way for workers: past everything that is for browsers.

Workers have no sessions, cookies or forms, and call more often than everybody else together. Their
nine paths are looked up in a table, and what guards every other request in layers is done here in
one go.

    begin --all that is asked is known--> waiting for the commit, if for anything --> finish
      \--anything unusual------------------------------------\---> the long way

Theory of operation. Nearly all calls come whole in one piece, from a worker that is known, about a
task that is active. `begin` answers these without a coroutine: it acts in memory and says which
commit the answer must wait for. Whatever is unusual (an unknown password, a refusal, a large body,
a stop, a mistake) makes `begin` or `finish` return None, and the call is done from its beginning
the long way, by the ASGI app below, which knows every case. That is no second act: where `begin`
gives up nothing has happened, and where `finish` does, memory was lost with the commit, so that it
is what the worker itself would do next.

The ASGI app is for every HTTP server. One whose connection is ours, as with uvicorn, may call
`read_whole`, `begin` and `finish` itself and save parsing by callbacks, the task and the messages.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.farm.ports import QueueFull, Rebuilding, StateLost
from rookery.model.run import RunFault
from rookery.people.login import LoginRefused
from rookery.protocol.codec import WireFault, encode_timed
from rookery.protocol.worker_answers import WorkerAnswer
from rookery.protocol.worker_heads import HEAD_BYTES
from rookery.web.answers import answer_error, stopping_answer
from rookery.web.faults import NotPrimary
from rookery.web.guards import HostCheck
from rookery.web.inventory import named_routes
from rookery.web.middleware import BROKEN_OFF, Account, Arrivals
from rookery.web.scope import (
    Facts,
    body_in,
    has_more,
    is_http,
    method_of,
    path_of,
    peer_of,
    scheme_of,
    set_facts,
    set_route,
)
from rookery.web.site import Site
from rookery.web.worker_api.call import WorkerCall, send_json
from rookery.web.worker_api.incoming import VerifiedCaller, country_in

_UNUSUAL = (WireFault, LoginRefused, RunFault, QueueFull, Rebuilding, StateLost)


@dataclass(frozen=True, slots=True)
class _Way:
    """Where a path leads, and under which name its loop time is kept."""

    name: str
    route: Route
    call: WorkerCall[Any]


class ShortCall(NamedTuple):
    """A call that is acted upon; its answer may leave once `committed` is true, if it is there."""

    way: _Way
    request_id: str
    started: float
    client: str
    answer: WorkerAnswer
    committed: asyncio.Future[bool] | None


@runs(Domain.LOOP, "one look into a table; a call that is like most is answered at once")
class ShortPath:
    """Everybody else goes the long way."""

    def __init__(self, app: ASGIApp, site: Site, routes: Sequence[Route], word: str) -> None:
        self.app = app
        self._site = site
        self._ways = {way.route.path: way for way in _ways(routes)}
        self._arrivals = Arrivals(site, word)
        self._account = Account(site)
        self._hosts = HostCheck(site)

    def begin(self, request: "WholeRequest", peer: str, scheme: str) -> ShortCall | None:
        """Acts upon a request that has come whole from a peer."""
        way, site = self._ways.get(request.path), self._site
        if way is None or not self._is_usual(request):
            return None
        began = site.clock.seconds()
        client, proxied = self._arrivals.client(peer, request.headers.get(b"x-forwarded-for"))
        try:
            said = way.call.reader.read(request.body)
            known = site.credentials.find_verified(said.worker_info.user, said.password)
            if known is None:
                return None
            country = request.headers.get(b"x-country-code") if proxied else None
            caller = VerifiedCaller(
                known.seal,
                known.user.machine_limit,
                client,
                country_in(country),
                known.user,
                site.teams.of(known.user.name),
                partial(self._server, request, scheme, proxied),
            )
            promise = way.call.act_at_once(said, caller)
        except _UNUSUAL:
            return None
        except Exception as error:
            site.log.error("short_call_failed", path=way.route.path, exc_info=error)
            return None
        if promise is None:
            return None
        self._account.came()
        site.meter.add(way.name, site.clock.seconds() - began)
        return ShortCall(way, self._arrivals.next_id(), began, client, *promise)

    def _is_usual(self, request: "WholeRequest") -> bool:
        return (
            len(request.body) <= HEAD_BYTES
            and not self._site.lifecycle.stopping
            and self._site.is_primary()
            and self._hosts.allows(request.headers.get(b"host"))
        )

    def finish(self, call: ShortCall) -> bytes | None:
        """The body of the answer, once it may leave."""
        committed, site = call.committed, self._site
        if committed is not None and (committed.cancelled() or not committed.result()):
            self._account.gave_up()
            return None
        # It may have waited for long, and memory says nothing about what happened since.
        if not site.is_primary():
            self._account.gave_up()
            return None
        body = encode_timed(call.answer, seconds=site.clock.seconds() - call.started)
        path = call.way.route.path
        self._account.note(path, path, "POST", 200, call.started, call.client, call.request_id)
        return body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        way = self._ways.get(path_of(scope)) if is_http(scope) else None
        if way is None:
            await self.app(scope, receive, send)
            return
        message = await receive()
        if not await self._answered_at_once(scope, message, send):
            await self._go_long(way, scope, _Again(message, receive), send)

    async def _answered_at_once(self, scope: Scope, message: Message, send: Send) -> bool:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if (
            message["type"] != "http.request"
            or has_more(message)
            or method_of(scope) != "POST"
            or len(headers) != len(scope["headers"])
        ):
            return False
        request = WholeRequest(path_of(scope), headers, body_in(message))
        call = self.begin(request, peer_of(scope), scheme_of(scope))
        if call is None:
            return False
        try:
            if call.committed is not None:
                await call.committed
        except asyncio.CancelledError:
            # The drain is over: the long way says so.
            if not self._site.lifecycle.stopping:
                self._account.gave_up()
                raise
        body = self.finish(call)
        if body is None:
            return False
        await send_json(send, 200, body, (b"x-request-id", call.request_id.encode()))
        return True

    async def _go_long(self, way: _Way, scope: Scope, receive: Receive, send: Send) -> None:
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
                return await _sent(stopping_answer(), named, scope, receive, send)
            self._hosts.check(scope)
            if not site.is_primary():
                raise NotPrimary
            told = await site.meter.measure(way.name, way.call.answer(scope, receive))
        except asyncio.CancelledError:
            # The drain is over: the last that can be done for this client is to say so.
            if not site.lifecycle.stopping:
                raise
            return await _sent(stopping_answer(), named, scope, receive, send)
        except Exception as error:  # noqa: BLE001 - whatever is raised becomes an answer
            answer = await answer_error(error, scope, self._site)
            return await _sent(answer, named, scope, receive, send)
        await send_json(send, *told, named)
        return told[0]

    def _server(self, request: "WholeRequest", scheme: str, proxied: bool) -> str:
        """As the caller wrote it; the name was checked before."""
        forwarded = request.headers.get(b"x-forwarded-proto") if proxied else None
        said = forwarded.decode("latin-1") if forwarded else scheme
        secure = said.strip().lower() == "https"
        return f"{'https' if secure else 'http'}://{request.headers[b'host'].decode('latin-1')}"


class WholeRequest(NamedTuple):
    """A POST that has come whole; no header comes twice."""

    path: str
    headers: dict[bytes, bytes]
    body: bytes


_LINE = re.compile(rb"POST (/api/[a-z_]+) HTTP/1\.1\r\n")
_HEADER = re.compile(
    rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)[ \t]*\r\n"
)
_MOST_HEADERS = 32
_SPECIAL = frozenset({b"transfer-encoding", b"expect", b"upgrade", b"te", b"trailer"})


def read_whole(data: bytes) -> WholeRequest | None:
    """One plain request for a path of workers, where the data is exactly that. Whatever is less
    than plain, or wrong, is for the HTTP server's own parser."""
    line = _LINE.match(data)
    if line is None:
        return None
    end = data.find(b"\r\n\r\n", line.end() - 2)
    headers = _headers_in(data, line.end(), end + 2)
    if end < 0 or headers is None:
        return None
    body = data[end + 4 :]
    is_plain = (
        headers.get(b"content-length") == b"%d" % len(body)
        and headers.get(b"connection", b"keep-alive").lower() == b"keep-alive"
        and _SPECIAL.isdisjoint(headers)
    )
    return WholeRequest(line[1].decode("ascii"), headers, body) if is_plain else None


def _headers_in(data: bytes, place: int, end: int) -> dict[bytes, bytes] | None:
    """By name in small letters; None where a line is none, or one comes twice."""
    headers: dict[bytes, bytes] = {}
    while place < end:
        header = _HEADER.match(data, place, end)
        if header is None or len(headers) == _MOST_HEADERS:
            return None
        name = header[1].lower()
        if name in headers:
            return None
        headers[name] = header[2]
        place = header.end()
    return headers


class _Again:
    """Receives a message that was received before, and then what comes."""

    __slots__ = ("_first", "_receive")

    def __init__(self, first: Message, receive: Receive) -> None:
        self._first: Message | None = first
        self._receive = receive

    async def __call__(self) -> Message:
        first, self._first = self._first, None
        return await self._receive() if first is None else first


def entrance(app: Starlette) -> ShortPath:
    """What a server calls: workers' calls do not even pass Starlette's own layers."""
    outermost = copy(short_path_of(app))
    outermost.app = app
    return outermost


def short_path_of(app: Starlette) -> ShortPath:
    """The short way of an app, which is its outermost layer."""
    if app.middleware_stack is None:
        app.middleware_stack = app.build_middleware_stack()
    layer: object = app.middleware_stack
    while not isinstance(layer, ShortPath):
        layer = layer.app  # type: ignore[attr-defined]  # as every layer has it
    return layer


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
