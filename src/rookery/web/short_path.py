r"""The short path of workers' calls: around all middleware that serves browsers.

Workers have no sessions, cookies or forms, and call more often than everybody else together. Their
nine paths are looked up in a table, and what guards every other request in layers is done here in
one go.

    begin --all that is asked is known--> waiting for the commit, if for anything --> finish
      \--anything unusual------------------------------------\---> the long path

Theory of operation. Nearly all calls come whole in one piece, from a worker that is known, about a
task that is active. `begin` answers these without a coroutine: it acts in memory and says which
commit the answer must wait for. Whatever is unusual (an unknown password, a refusal, a large body,
a stop, a mistake) makes `begin` or `finish` return None, and the call is done from its beginning
the long path, by the ASGI app below, which knows every case. That is no second act: where `begin`
gives up nothing has happened, and where `finish` does, memory was lost with the commit, so that it
is what the worker itself would do next.

The ASGI app is for every HTTP server. One whose connection is ours, as with uvicorn, may call
`parse_whole_request`, `begin` and `finish` itself and save parsing by callbacks, the task and the
messages.
"""

import asyncio
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
from rookery.farm.commits import QueueFull, StateLost
from rookery.farm.primary import Rebuilding
from rookery.model.run import RunFault
from rookery.people.login import LoginRefused
from rookery.protocol.codec import WireFault, encode_timed
from rookery.protocol.worker_answers import WorkerAnswer
from rookery.protocol.worker_heads import HEAD_BYTES
from rookery.web.answers import answer_error, stopping_answer
from rookery.web.bodies import cancel_on_leave
from rookery.web.faults import NotPrimary
from rookery.web.forwarding import COUNTRY, OutgoingCall
from rookery.web.guards import HostCheck
from rookery.web.internal_calls import AGAIN, FORWARDED, ForwardedCall
from rookery.web.inventory import named_routes
from rookery.web.primary_link import AnswerLost, Reply
from rookery.web.request_log import BROKEN_OFF, RequestIdentifier, RequestLog
from rookery.web.scope import (
    RequestInfo,
    body_in,
    has_more,
    is_http,
    method_of,
    path_of,
    peer_of,
    scheme_of,
    set_request_info,
    set_route,
)
from rookery.web.site import Site
from rookery.web.to_primary import Replayed, list_passed_on, make_outgoing
from rookery.web.whole_requests import WholeRequest
from rookery.web.worker_api.call import JSON_TYPE, WorkerCall, send_json
from rookery.web.worker_api.incoming import VerifiedCaller, country_code

CALL_SECONDS = 25.0
"""A worker waits for thirty."""
HELD_SECONDS = 65.0
TASK_PATH = "/api/request_task"
_UNUSUAL = (WireFault, LoginRefused, RunFault, QueueFull, Rebuilding, StateLost)


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """A worker's call by its route, and the name under which its time on the loop is measured."""

    name: str
    route: Route
    call: WorkerCall[Any]


class ShortCall(NamedTuple):
    """A call that was carried out in memory. Its answer is sent once `committed` is true, or at
    once where that is None. One that was sent to the primary has its answer there."""

    endpoint: _Endpoint
    request_id: str
    started: float
    client: str
    answer: WorkerAnswer | None
    committed: "asyncio.Future[bool] | asyncio.Future[Reply] | None"


@runs(Domain.LOOP, "one look into a table; a call that is like most is answered at once")
class ShortPath:
    """The outermost ASGI app: answers the nine calls of workers, and passes all others on."""

    def __init__(self, app: ASGIApp, site: Site, routes: Sequence[Route], word: str) -> None:
        self.app = app
        self._site = site
        self._endpoints = {endpoint.route.path: endpoint for endpoint in _endpoints(routes)}
        self._identifier = RequestIdentifier(site, word)
        self._request_log = RequestLog(site)
        self._hosts = HostCheck(site)

    def begin(self, request: WholeRequest, peer: str, scheme: str) -> ShortCall | None:
        """Carry out a usual request in memory; None for an unusual one, with nothing changed."""
        endpoint, site = self._endpoints.get(request.path), self._site
        if endpoint is None or not self._is_usual(request):
            return None
        if not site.is_primary():
            return self._begin_elsewhere(endpoint, request, peer, scheme)
        began = site.clock.seconds()
        forwarded = self._identifier.verify(request.path.encode(), request.headers)
        if forwarded is None:
            client, proxied = self._identifier.client(peer, request.headers.get(b"x-forwarded-for"))
        else:
            client, proxied = forwarded.client, True
            scheme = "https" if forwarded.secure else "http"
        try:
            decoded = endpoint.call.reader.read(request.body)
            known = site.credentials.find_verified(decoded.worker_info.user, decoded.password)
            if known is None:
                return None
            country = request.headers.get(b"x-country-code") if proxied else None
            caller = VerifiedCaller(
                known.seal,
                known.user.machine_limit,
                client,
                country_code(country),
                known.user,
                site.teams.of(known.user.name),
                partial(self._server, request, scheme, proxied),
            )
            pending = endpoint.call.act_at_once(decoded, caller)
        except _UNUSUAL:
            return None
        except Exception as error:
            site.log.error("short_call_failed", path=endpoint.route.path, exc_info=error)
            return None
        if pending is None:
            return None
        self._request_log.add_arrival()
        site.meter.add(endpoint.name, site.clock.seconds() - began)
        request_id = forwarded.request_id if forwarded else self._identifier.next_id()
        return ShortCall(endpoint, request_id, began, client, *pending)

    def _is_usual(self, request: WholeRequest) -> bool:
        return (
            len(request.body) <= HEAD_BYTES
            and not self._site.lifecycle.stopping
            and self._hosts.allows(request.headers.get(b"host"))
        )

    def _begin_elsewhere(
        self, endpoint: _Endpoint, request: WholeRequest, peer: str, scheme: str
    ) -> ShortCall | None:
        """Send a usual request to the process that is primary; None where that takes longer."""
        headers, forwarder = request.headers, self._site.forwarder
        if not endpoint.call.needs_primary or forwarder.is_ready() or FORWARDED in headers:
            return None
        if endpoint.route.path == TASK_PATH and b'"wait"' in request.body:
            return None
        began, request_id = self._site.clock.seconds(), self._identifier.next_id()
        client, proxied = self._identifier.client(peer, headers.get(b"x-forwarded-for"))
        who = ForwardedCall(request_id, client, self._is_secure(headers, scheme, proxied))
        country = headers.get(COUNTRY) if proxied else None
        lines = b"%b: %b\r\n" % (COUNTRY, country) if country else b""
        target, host = request.path.encode(), headers[b"host"]
        call = OutgoingCall("POST", target, host, lines, request.body, who, CALL_SECONDS)
        answer = forwarder.ask_at_once(call)
        if answer is None:
            return None
        self._request_log.add_arrival()
        return ShortCall(endpoint, request_id, began, client, None, answer)

    def finish(self, call: ShortCall) -> bytes | Reply | None:
        """The body of the response once the call is committed; what the primary answered, where it
        is another; None where the commit failed or nothing was decided. Then the call is made once
        more, the long way, which changes nothing that the worker itself would not by repeating
        it."""
        body = self._finish_here(call) if call.answer is not None else _find_reply(call)
        if body is None:
            self._request_log.drop_arrival()
            return None
        path, status = call.endpoint.route.path, body.status if isinstance(body, Reply) else 200
        self._request_log.add_response(
            path, path, "POST", status, call.started, call.client, call.request_id
        )
        return body

    def _finish_here(self, call: ShortCall) -> bytes | None:
        committed, site = call.committed, self._site
        if committed is not None and (committed.cancelled() or not committed.result()):
            return None
        # It may have waited for long, and memory says nothing about what happened since.
        if not site.is_primary():
            return None
        assert call.answer is not None
        return encode_timed(call.answer, seconds=site.clock.seconds() - call.started)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._endpoints.get(path_of(scope)) if is_http(scope) else None
        if endpoint is None:
            await self.app(scope, receive, send)
            return
        message = await receive()
        if not await self._answer_at_once(scope, message, send):
            await self._answer_long(endpoint, scope, _ReplayFirst(message, receive), send)

    async def _answer_at_once(self, scope: Scope, message: Message, send: Send) -> bool:
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
        except AnswerLost:
            pass  # `finish` sees it
        except asyncio.CancelledError:
            # The drain is over: the long path says so.
            if not self._site.lifecycle.stopping:
                self._request_log.drop_arrival()
                raise
        body = self.finish(call)
        id_header = (b"x-request-id", call.request_id.encode())
        if isinstance(body, Reply):
            await _send_reply(body, id_header, send)
        elif body is not None:
            await send_json(send, 200, body, id_header)
        return body is not None

    async def _answer_long(
        self, endpoint: _Endpoint, scope: Scope, receive: Receive, send: Send
    ) -> None:
        info, status = self._identifier.identify(scope), BROKEN_OFF
        set_request_info(scope, info)
        set_route(scope, endpoint.route)
        self._request_log.add_arrival()
        try:
            status = await self._answer(endpoint, info, scope, receive, send)
        finally:
            self._request_log.add_request(scope, info, status)

    async def _answer(
        self, endpoint: _Endpoint, info: RequestInfo, scope: Scope, receive: Receive, send: Send
    ) -> int:
        site = self._site
        id_header = (b"x-request-id", info.request_id.encode())
        try:
            if site.lifecycle.stopping:
                return await _send_response(stopping_answer(), id_header, scope, receive, send)
            self._hosts.check(scope)
            if endpoint.call.needs_primary and not site.forwarder.is_ready():
                reply, receive = await self._ask_primary(endpoint, info, scope, receive)
                if reply is not None:
                    return await _send_reply(reply, id_header, send)
            elif endpoint.call.needs_primary and not site.is_primary():
                raise NotPrimary
            response = await site.meter.measure(endpoint.name, endpoint.call.answer(scope, receive))
        except asyncio.CancelledError:
            # The drain is over: the last that can be done for this client is to say so.
            if not site.lifecycle.stopping:
                raise
            return await _send_response(stopping_answer(), id_header, scope, receive, send)
        except Exception as error:  # noqa: BLE001 - whatever is raised becomes an answer
            answer = await answer_error(error, scope, self._site)
            return await _send_response(answer, id_header, scope, receive, send)
        await send_json(send, *response, id_header)
        return response[0]

    async def _ask_primary(
        self, endpoint: _Endpoint, info: RequestInfo, scope: Scope, receive: Receive
    ) -> tuple[Reply | None, Receive]:
        """The answer of the process that is primary, if it is another; None and the request again
        where it is to be answered here by now."""
        if info.forwarded is not None:
            raise NotPrimary
        body = await endpoint.call.read_unanswered(scope, receive)
        if not isinstance(body, bytes):
            status, content = body
            return Reply(status, [JSON_TYPE], content), receive
        held = endpoint.route.path == TASK_PATH and b'"wait"' in body
        seconds = HELD_SECONDS if held else CALL_SECONDS
        call = make_outgoing(scope, body, info, seconds=seconds, held=held)
        replayed = Replayed(body, receive)
        if not held:
            return (await self._site.forwarder.ask(call))[0], replayed
        reply: Reply | None = None
        began = self._site.clock.seconds()
        with self._site.streams.join() as waiting:
            leaving = asyncio.ensure_future(cancel_on_leave(receive, waiting))
            try:
                reply, _ = await self._site.forwarder.ask(call)
            finally:
                leaving.cancel()
        if waiting.cancelled_caught:
            raise NotPrimary
        # A wait for work is not how long the server takes to answer.
        info.started += self._site.clock.seconds() - began
        return reply, replayed

    def _server(self, request: WholeRequest, scheme: str, proxied: bool) -> str:
        """This server's address as in the host header, which was checked before."""
        secure = self._is_secure(request.headers, scheme, proxied)
        return f"{'https' if secure else 'http'}://{request.headers[b'host'].decode('latin-1')}"

    def _is_secure(self, headers: dict[bytes, bytes], scheme: str, proxied: bool) -> bool:
        forwarded = headers.get(b"x-forwarded-proto") if proxied else None
        said = forwarded.decode("latin-1") if forwarded else scheme
        return said.strip().lower() == "https"


class _ReplayFirst:
    """An ASGI `receive` that returns a message received before, and then the following ones."""

    __slots__ = ("_first", "_receive")

    def __init__(self, first: Message, receive: Receive) -> None:
        self._first: Message | None = first
        self._receive = receive

    async def __call__(self) -> Message:
        first, self._first = self._first, None
        return await self._receive() if first is None else first


def outermost_short_path(app: Starlette) -> ShortPath:
    """The short path to be called by an HTTP server, with all of Starlette's layers below it."""
    outermost = copy(short_path_of(app))
    outermost.app = app
    return outermost


def short_path_of(app: Starlette) -> ShortPath:
    """The short path of an app, found among its middleware."""
    if app.middleware_stack is None:
        app.middleware_stack = app.build_middleware_stack()
    layer: object = app.middleware_stack
    while not isinstance(layer, ShortPath):
        layer = layer.app  # type: ignore[attr-defined]  # as every layer has it
    return layer


def _endpoints(routes: Sequence[Route]) -> Iterator[_Endpoint]:
    for name, route in named_routes(list(routes)):
        if isinstance(route, Route) and isinstance(route.endpoint, WorkerCall):
            yield _Endpoint(name, route, route.endpoint)


def _find_reply(call: ShortCall) -> bytes | Reply | None:
    """What the primary answered; a usual answer without its head, which is like that of ours."""
    answer = call.committed
    if answer is None or answer.cancelled() or answer.exception():
        return None
    reply = answer.result()
    if not isinstance(reply, Reply) or reply.header(AGAIN):
        return None
    return reply.body if reply.status == 200 else reply


async def _send_reply(reply: Reply, id_header: tuple[bytes, bytes], send: Send) -> int:
    headers = [*list_passed_on(reply), id_header]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
    return reply.status


async def _send_response(
    answer: Response, id_header: tuple[bytes, bytes], scope: Scope, receive: Receive, send: Send
) -> int:
    answer.raw_headers.append(id_header)
    await answer(scope, receive, send)
    return answer.status_code
