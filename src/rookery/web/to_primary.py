"""The layer that sends people's and programs' commands to the primary, where that is another.

Authentication, CSRF, authorisation and flashes happen there, exactly as if the primary had been
called itself; what limits a request, and what dresses an answer for a browser, happens here.
"""

import hashlib
import secrets
from collections.abc import Iterable

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.boundary.domains import Domain, declaration_of, runs
from rookery.farm.command_keys import CommandKey, known_as
from rookery.web.bodies import next_message
from rookery.web.faults import BadRequest, NotPrimary
from rookery.web.forwarding import OutgoingCall, encode_headers
from rookery.web.internal_calls import AGAIN, ForwardedCall
from rookery.web.inventory import endpoint_of
from rookery.web.middleware import HEADERS
from rookery.web.primary_link import Reply
from rookery.web.scope import (
    RequestInfo,
    body_in,
    find_route,
    has_more,
    header,
    header_values,
    headers_of,
    is_http,
    method_of,
    path_of,
    request_info_of,
    session_of,
    set_route,
    target_of,
)
from rookery.web.site import Site

COMMAND_SECONDS = 75.0
"""A submission may have to ask GitHub, which it does for 45 seconds at the most."""
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_NOT_PASSED_ON = frozenset(
    {
        b"connection",
        b"content-length",
        b"date",
        b"keep-alive",
        b"server",
        b"transfer-encoding",
        b"x-request-id",
        AGAIN,
    }
)


def needs_primary(part: object) -> bool:
    """Whether an endpoint or a worker's call is declared to be the primary's."""
    declared = declaration_of(part)
    return declared is not None and declared.needs_primary


def make_outgoing(
    scope: Scope,
    body: bytes,
    info: RequestInfo,
    *,
    seconds: float,
    key: str = "",
    held: bool = False,
) -> OutgoingCall:
    """A request as it is sent on."""
    hosts = header_values(scope, b"host")
    return OutgoingCall(
        method_of(scope),
        target_of(scope),
        hosts[0] if hosts else b"",
        encode_headers(headers_of(scope), proxied=info.proxied),
        body,
        ForwardedCall(info.request_id, info.client, info.secure, key),
        seconds,
        held,
    )


def list_passed_on(reply: Reply, *, without: Iterable[bytes] = ()) -> list[tuple[bytes, bytes]]:
    """The headers of the primary's answer for the client, but for what this server adds itself."""
    dropped = _NOT_PASSED_ON.union(without)
    kept = [(name, value) for name, value in reply.headers if name not in dropped]
    return [*kept, (b"content-length", b"%d" % len(reply.body))]


class Replayed:
    """An ASGI `receive` that returns a body which was read before."""

    __slots__ = ("_body", "_receive")

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


@runs(
    Domain.LOOP, "asks whether this process is primary; else sends small bodies to the one that is"
)
class Forwarding:
    """Inside of what limits requests, outside of what knows sessions."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app = app
        self._forwarder = site.forwarder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            not is_http(scope)
            or method_of(scope) in _SAFE
            or self._forwarder.is_ready()
            or not _is_for_primary(scope)
        ):
            await self.app(scope, receive, send)
            return
        info = request_info_of(scope)
        if info.forwarded is not None:
            raise NotPrimary
        body = await _read_whole(receive)
        key = secrets.token_hex(16)
        call = make_outgoing(scope, body, info, seconds=COMMAND_SECONDS, key=key)
        reply, repeated = await self._forwarder.ask(call)
        if reply is None:
            info.command = CommandKey(key, repeated)
            await self.app(scope, Replayed(body, receive), send)
        else:
            await _send(reply, send)


def _is_for_primary(scope: Scope) -> bool:
    """Whether the endpoint that takes this request is the primary's, by its route."""
    route = find_route(scope)
    if route is None or not needs_primary(endpoint_of(route)):
        return False
    set_route(scope, route)
    return True


# What is sent twice is carried out once: the key of a request, while its endpoint is at work.

KEY_HEADER = b"idempotency-key"
LONGEST_KEY = 200


class _KeyedCommand:
    """The app of a route that needs the primary."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = find_command_key(scope)
        if key is None:
            await self._app(scope, receive, send)
        else:
            with known_as(key):
                await self._app(scope, receive, send)


def find_command_key(scope: Scope) -> CommandKey | None:
    """The key that the client gave its request, or the instance that has sent it on. A client's is
    good for one endpoint and for whom it was given by. Raises BadRequest."""
    values = header_values(scope, KEY_HEADER)
    if not values or method_of(scope) in _SAFE:
        return request_info_of(scope).command
    if len(values) > 1 or not 0 < len(values[0]) <= LONGEST_KEY:
        raise BadRequest(f"An Idempotency-Key has 1 to {LONGEST_KEY} characters.")
    who = (session_of(scope).user, header(scope, b"authorization"))
    words = (*who, method_of(scope), path_of(scope), values[0].decode("latin-1"))
    digest = hashlib.sha256("\n".join(words).encode()).hexdigest()
    return CommandKey(digest[:32], repeated=True)


def know_commands_again(routes: Iterable[BaseRoute]) -> None:
    """Has the commands among these routes carried out once for each key."""
    for route in routes:
        if isinstance(route, Route) and needs_primary(route.endpoint):
            route.app = _KeyedCommand(route.app)


async def _read_whole(receive: Receive) -> bytes:
    """The body; its size is limited further out. Raises BodyTooSlow or ClientLeft: what came of a
    command without its end is not sent on."""
    body, more = bytearray(), True
    while more:
        message = await next_message(receive)
        body += body_in(message)
        more = has_more(message)
    return bytes(body)


async def _send(reply: Reply, send: Send) -> None:
    headers = list_passed_on(reply, without=(name for name, _ in HEADERS))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
