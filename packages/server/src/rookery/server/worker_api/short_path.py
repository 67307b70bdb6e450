r"""The short path of workers' calls, around all middleware for browsers.

Workers have no sessions, cookies or forms, and call more often than all other clients together.
Their nine paths are looked up in a table, and the checks that layers of middleware make for other
requests are made here in one place.

    uvicorn, bytes -----\
    uvicorn, ASGI -------> begin --at once----> the commit ---> finish --> answer
    rookery-asgi, ASGI -/       |--passed on--> the primary --/   |
                                |                                 | nothing was decided
                                \--what is known--> long path <---/
                                                    here or at the primary --> answer

Theory of operation. There are three kinds of path. *At once*: nearly all calls arrive complete in
one piece, from a known worker, about an active task. `begin` carries these out in memory without a
coroutine, and returns the commit that the answer must wait for. *Passed on*: in a process that is
not primary, `begin` sends the call to the one that is, unread. *Long*: in any other case (a call
that is not `at_once`, an unknown password, a refusal, a large body, a stop, an error) a coroutine
carries it out (`web/long_path.py`). What was decoded and verified goes along as a `KnownCall`, so
that on every path a body is decoded once and its sender verified once.

The long path does nothing twice: what `begin` could not finish has changed nothing, except that a
machine which is to wait for a task has already asked once. If `finish` gives nothing, memory was
dropped with the failed commit, and the repetition is what the worker itself would do next.

Every HTTP server can use the ASGI app. A server whose connection class is Rookery's own, as with
uvicorn, may call `parse_whole_request`, `begin` and `finish` itself, which saves parser callbacks,
the task and the ASGI messages.
"""

import asyncio
from collections.abc import Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.core.model.run import RunFault
from rookery.core.protocol.codec import encode_timed
from rookery.core.protocol.worker_answers import WorkerAnswer
from rookery.core.protocol.worker_heads import HEAD_BYTES
from rookery.core.protocol.worker_requests import Credentials, TaskRequest
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.commits import QueueFull, StateLost
from rookery.server.farm.primary import Rebuilding
from rookery.server.http.bodies import CheckedBody, Replayed
from rookery.server.http.forwarding import COUNTRY, OutgoingCall
from rookery.server.http.guards import HostCheck
from rookery.server.http.internal_calls import AGAIN, FORWARDED, ForwardedCall
from rookery.server.http.inventory import named_routes
from rookery.server.http.primary_link import AnswerLost, Reply
from rookery.server.http.request_log import BROKEN_OFF, RequestIdentifier, RequestLog
from rookery.server.http.scope import (
    body_in,
    has_more,
    is_http,
    known_call_of,
    method_of,
    path_of,
    peer_of,
    scheme_of,
    set_request_info,
    set_route,
)
from rookery.server.http.whole_requests import WholeRequest
from rookery.server.identity.login import LoginRefused
from rookery.server.worker_api.call import (
    ArrivedCall,
    KnownCall,
    Unreadable,
    WorkerCall,
    send_json,
)
from rookery.server.worker_api.incoming import Origin, VerifiedCaller, make_caller
from rookery.server.worker_api.long_path import CALL_SECONDS, Endpoint, LongPath, send_reply

if TYPE_CHECKING:
    from rookery.server.app.site import Site

_UNUSUAL = (LoginRefused, RunFault, QueueFull, Rebuilding, StateLost)


class ShortCall(Struct, frozen=True):
    """A call carried out in memory. Its answer may be sent once `committed` is true, at once if
    that is None. For a call sent to the primary, the future holds the primary's answer."""

    endpoint: Endpoint
    request_id: str
    started: float
    client: str
    answer: WorkerAnswer | None
    committed: "asyncio.Future[bool] | asyncio.Future[Reply] | None"
    known: KnownCall[Any] | None = None


@runs(Domain.LOOP, "one look into a table; a call that is like most is answered at once")
class ShortPath:
    """The outermost ASGI app: answers the nine calls of workers and passes all other requests
    on."""

    def __init__(self, app: ASGIApp, site: "Site", routes: Sequence[Route], word: str) -> None:
        self.app = app
        self._site = site
        self._endpoints = {endpoint.route.path: endpoint for endpoint in _endpoints(routes)}
        self._identifier = RequestIdentifier(site, word)
        self._request_log = RequestLog(site)
        self._hosts = HostCheck(site)
        self._long = LongPath(site, self._hosts)

    def begin(
        self, request: WholeRequest, peer: str, scheme: str
    ) -> ShortCall | KnownCall[Any] | None:
        """Carry out a call at once, or send it to the primary. If that is not possible, what has
        been found out about it, which must go along when it is carried out; None if it was not even
        decoded."""
        endpoint = self._endpoints.get(request.path)
        if endpoint is None or not self._is_usual(request):
            return None
        if not self._site.is_primary():
            return self._begin_elsewhere(endpoint, request, peer, scheme)
        origin = self._find_origin(request, peer, scheme) if endpoint.call.at_once else None
        return None if origin is None else self._begin_here(endpoint, request, origin)

    def _begin_here(
        self, endpoint: Endpoint, request: WholeRequest, origin: Origin
    ) -> ShortCall | KnownCall[Any]:
        began, call = self._site.clock.seconds(), endpoint.call
        content = call.decode(request.body)
        if isinstance(content, Unreadable):
            return KnownCall(content)
        caller = pending = None
        try:
            caller = self._find_caller(content, origin)
            pending = caller and call.act_at_once(content, caller)
        except _UNUSUAL:
            pass  # it is raised again where it is answered
        except Exception as error:
            self._site.log.error("short_call_failed", path=endpoint.route.path, exc_info=error)
        known: KnownCall[Any] = KnownCall(content, caller)
        if pending is None:
            return known
        self._request_log.add_arrival()
        self._site.meter.add(endpoint.name, self._site.clock.seconds() - began)
        request_id = origin.request_id or self._identifier.next_id()
        return ShortCall(endpoint, request_id, began, origin.client, *pending, known)

    def _find_caller(
        self, content: TaskRequest | Credentials, origin: Origin
    ) -> VerifiedCaller | None:
        """The sender, if memory knows the credentials. Raises LoginRefused."""
        name, password = content.worker_info.user, content.password
        found = self._site.credentials.find_verified(name, password)
        return make_caller(found, origin, self._site.teams.of) if found else None

    def _find_origin(self, request: WholeRequest, peer: str, scheme: str) -> Origin | None:
        """None for a call whose header of another instance is outdated."""
        headers = request.headers
        forwarded = self._identifier.verify(request.path.encode(), headers, request.body)
        host, country = headers[b"host"], headers.get(COUNTRY)
        if forwarded is None:
            client, proxied = self._identifier.client(peer, headers.get(b"x-forwarded-for"))
            if not proxied:
                return Origin(client, host, scheme == "https")
            return Origin(client, host, _is_secure(headers, scheme), country)
        if forwarded.seconds_late:
            return None
        return Origin(forwarded.client, host, forwarded.secure, country, forwarded.request_id)

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
        forwarder = self._site.forwarder
        if not endpoint.call.needs_primary or forwarder.is_ready() or FORWARDED in request.headers:
            return None
        origin = self._find_origin(request, peer, scheme)
        if origin is None or endpoint.may_be_held(request.body):
            return None
        began, request_id = self._site.clock.seconds(), self._identifier.next_id()
        who = ForwardedCall(request_id, origin.client, origin.secure)
        lines = b"%b: %b\r\n" % (COUNTRY, origin.country) if origin.country else b""
        target = request.path.encode()
        call = OutgoingCall("POST", target, origin.host, lines, request.body, who, CALL_SECONDS)
        answer = forwarder.ask_at_once(call)
        if answer is None:
            return None
        self._request_log.add_arrival()
        return ShortCall(endpoint, request_id, began, origin.client, None, answer)

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
        known = cast("KnownCall[Any] | None", known_call_of(scope))
        begun = known or self._begin(scope, message)
        if not isinstance(begun, ShortCall):
            known = begun
        elif await self._answer_at_once(begun, send):
            return
        else:
            known = begun.known
        again = Replayed([message], receive)
        await self._answer_long(endpoint, ArrivedCall(scope, again, known), send)

    def _begin(self, scope: Scope, message: Message) -> ShortCall | KnownCall[Any] | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if (
            message["type"] != "http.request"
            or has_more(message)
            or method_of(scope) != "POST"
            or len(headers) != len(scope["headers"])
        ):
            return None
        request = WholeRequest(path_of(scope), headers, body_in(message))
        return self.begin(request, peer_of(scope), scheme_of(scope))

    async def _answer_at_once(self, call: ShortCall, send: Send) -> bool:
        """Send the answer once the call is committed. False if it can't be given."""
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

    async def _answer_long(self, endpoint: Endpoint, call: ArrivedCall[Any], send: Send) -> None:
        scope, status = call.scope, BROKEN_OFF
        info = self._identifier.identify(scope)
        set_request_info(scope, info)
        set_route(scope, endpoint.route)
        self._request_log.add_arrival()
        if info.forwarded is not None:
            call.receive = CheckedBody(info.forwarded, call.receive)
        try:
            status = await self._long.answer(endpoint, call, send)
        finally:
            self._request_log.add_request(scope, info, status)


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


def _is_secure(headers: dict[bytes, bytes], scheme: str) -> bool:
    """Whether a client that calls through a trusted proxy uses HTTPS."""
    forwarded = headers.get(b"x-forwarded-proto")
    said = forwarded.decode("latin-1") if forwarded else scheme
    return said.strip().lower() == "https"


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
