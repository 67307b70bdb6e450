r"""The short path of workers' calls, around all middleware for browsers.

Workers have no sessions, cookies or forms, and call more often than all other clients together.
Their nine paths are looked up in a table, and the checks that layers of middleware make for other
requests are made here in one place.

    begin --all that is asked is known--> waiting for the commit, if for anything --> finish
      \--anything unusual------------------------------------\---> the long path

Theory of operation. Nearly all calls arrive complete in one piece, from a known worker, about an
active task. `begin` carries these out in memory without a coroutine, and returns the commit that
the answer must wait for. In any unusual case (an unknown password, a refusal, a large body, a stop,
an error) `begin` or `finish` returns None, and the call is carried out from its beginning on the
long path, which handles every case (`web/long_path.py`). This does not do anything twice: `begin`
has changed nothing if it returns None. If `finish` does, memory was dropped with the failed commit,
and the repetition is what the worker itself would do next.

Every HTTP server can use the ASGI app. A server whose connection class is Rookery's own, as with
uvicorn, may call `parse_whole_request`, `begin` and `finish` itself, which saves parser callbacks,
the task and the ASGI messages.
"""

import asyncio
from collections.abc import Iterator, Sequence
from copy import copy
from functools import partial
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.core.model.run import RunFault
from rookery.core.protocol.codec import WireFault, encode_timed
from rookery.core.protocol.worker_answers import WorkerAnswer
from rookery.core.protocol.worker_heads import HEAD_BYTES
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.commits import QueueFull, StateLost
from rookery.server.farm.primary import Rebuilding
from rookery.server.farm.worker_api.call import WorkerCall, send_json
from rookery.server.farm.worker_api.incoming import VerifiedCaller, country_code
from rookery.server.http.bodies import CheckedBody, Replayed
from rookery.server.http.forwarding import COUNTRY, OutgoingCall
from rookery.server.http.guards import HostCheck
from rookery.server.http.internal_calls import AGAIN, FORWARDED, ForwardedCall
from rookery.server.http.inventory import named_routes
from rookery.server.http.long_path import CALL_SECONDS, Endpoint, LongPath, send_reply
from rookery.server.http.primary_link import AnswerLost, Reply
from rookery.server.http.request_log import BROKEN_OFF, RequestIdentifier, RequestLog
from rookery.server.http.scope import (
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
from rookery.server.http.whole_requests import WholeRequest
from rookery.server.people.login import LoginRefused

_UNUSUAL = (WireFault, LoginRefused, RunFault, QueueFull, Rebuilding, StateLost)


class ShortCall(NamedTuple):
    """A call carried out in memory. Its answer may be sent once `committed` is true, at once if
    that is None. For a call sent to the primary, the future holds the primary's answer."""

    endpoint: Endpoint
    request_id: str
    started: float
    client: str
    answer: WorkerAnswer | None
    committed: "asyncio.Future[bool] | asyncio.Future[Reply] | None"


@runs(Domain.LOOP, "one look into a table; a call that is like most is answered at once")
class ShortPath:
    """The outermost ASGI app: answers the nine calls of workers and passes all other requests
    on."""

    def __init__(self, app: ASGIApp, site: Site, routes: Sequence[Route], word: str) -> None:
        self.app = app
        self._site = site
        self._endpoints = {endpoint.route.path: endpoint for endpoint in _endpoints(routes)}
        self._identifier = RequestIdentifier(site, word)
        self._request_log = RequestLog(site)
        self._hosts = HostCheck(site)
        self._long = LongPath(site, self._hosts)

    def begin(self, request: WholeRequest, peer: str, scheme: str) -> ShortCall | None:
        """Carry out a usual request in memory. None for an unusual one, and then nothing has
        changed."""
        endpoint, site = self._endpoints.get(request.path), self._site
        if endpoint is None or not self._is_usual(request):
            return None
        if not site.is_primary():
            return self._begin_elsewhere(endpoint, request, peer, scheme)
        began = site.clock.seconds()
        forwarded = self._identifier.verify(request.path.encode(), request.headers, request.body)
        if forwarded is None:
            client, proxied = self._identifier.client(peer, request.headers.get(b"x-forwarded-for"))
        elif forwarded.seconds_late:
            return None
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
        self, endpoint: Endpoint, request: WholeRequest, peer: str, scheme: str
    ) -> ShortCall | None:
        """Send a usual request to the process that is primary. None if it can't be sent at once."""
        headers, forwarder = request.headers, self._site.forwarder
        if not endpoint.call.needs_primary or forwarder.is_ready() or FORWARDED in headers:
            return None
        if endpoint.may_be_held(request.body):
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
        """The body of the response once the call is committed, or the answer of another process
        that is primary. None if the commit failed or nothing was decided: the call is then carried
        out again on the long path, just as if the worker had repeated it."""
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
        # The call may have waited for long, and this process may no longer be primary.
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
            await self._answer_long(endpoint, scope, Replayed([message], receive), send)

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
            pass  # `finish` handles it
        except asyncio.CancelledError:
            # The time for draining is over; the long path says so.
            if not self._site.lifecycle.stopping:
                self._request_log.drop_arrival()
                raise
        body = self.finish(call)
        id_header = (b"x-request-id", call.request_id.encode())
        if isinstance(body, Reply):
            await send_reply(body, id_header, send)
        elif body is not None:
            await send_json(send, 200, body, id_header)
        return body is not None

    async def _answer_long(
        self, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send
    ) -> None:
        info, status = self._identifier.identify(scope), BROKEN_OFF
        set_request_info(scope, info)
        set_route(scope, endpoint.route)
        self._request_log.add_arrival()
        if info.forwarded is not None:
            receive = CheckedBody(info.forwarded, receive)
        try:
            status = await self._long.answer(endpoint, info, scope, receive, send)
        finally:
            self._request_log.add_request(scope, info, status)

    def _server(self, request: WholeRequest, scheme: str, proxied: bool) -> str:
        """This server's address by the host header, which has been checked before."""
        secure = self._is_secure(request.headers, scheme, proxied)
        return f"{'https' if secure else 'http'}://{request.headers[b'host'].decode('latin-1')}"

    def _is_secure(self, headers: dict[bytes, bytes], scheme: str, proxied: bool) -> bool:
        forwarded = headers.get(b"x-forwarded-proto") if proxied else None
        said = forwarded.decode("latin-1") if forwarded else scheme
        return said.strip().lower() == "https"


def outermost_short_path(app: Starlette) -> ShortPath:
    """The short path for an HTTP server to call, with all of Starlette's layers below it."""
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


def _endpoints(routes: Sequence[Route]) -> Iterator[Endpoint]:
    for name, route in named_routes(list(routes)):
        if isinstance(route, Route) and isinstance(route.endpoint, WorkerCall):
            yield Endpoint(name, route, route.endpoint)


def _find_reply(call: ShortCall) -> bytes | Reply | None:
    """The primary's answer. Of a usual answer only the body, since its headers equal those sent
    here."""
    answer = call.committed
    if answer is None or answer.cancelled() or answer.exception():
        return None
    reply = answer.result()
    if not isinstance(reply, Reply) or reply.header(AGAIN):
        return None
    return reply.body if reply.status == 200 else reply
