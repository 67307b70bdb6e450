"""The middleware that forwards commands of people and programs to the process that is primary.

Authentication, CSRF checks, authorisation and messages happen in the primary, as if it had been
called directly. Limits on requests and headers for browsers are applied here.

If this process steps down or loses its memory while it carries out a command, the command is sent
to the next primary, unless its answer has begun. It has a key from the start, so that the next
primary does not repeat what was committed here.
"""

import contextlib
import hashlib
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.server.boundary.domains import Domain, declaration_of, runs
from rookery.server.http.answers import site_of
from rookery.server.http.at_primary import carry_out_at_primary
from rookery.server.http.bodies import KeptBody, Replayed, next_message, read_pieces
from rookery.server.http.callers import find_caller
from rookery.server.http.command_keys import CommandKey, KeyReused, command_key_scope
from rookery.server.http.faults import BadRequest, BodyTooLarge, NotPrimary, OtherBody
from rookery.server.http.forwarding import OutgoingCall, encode_headers
from rookery.server.http.internal_calls import (
    AGAIN,
    OUR_TIME,
    ForwardedCall,
    digest_body,
    digest_credentials,
)
from rookery.server.http.inventory import endpoint_of
from rookery.server.http.middleware import HEADERS
from rookery.server.http.primary_link import Reply
from rookery.server.http.scope import (
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
    query_of,
    request_info_of,
    session_of,
    set_route,
    target_of,
)
from rookery.server.http.session import CookieRefused, cookie_in

if TYPE_CHECKING:
    from rookery.server.app.site import Site

COMMAND_SECONDS = 75.0
"""How long the primary may take for a command. A submission may ask GitHub for up to 45 seconds."""
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
        OUR_TIME,
    }
)


def needs_primary(part: object) -> bool:
    """Whether an endpoint or a worker's call is declared to need the primary."""
    declared = declaration_of(part)
    return declared is not None and declared.needs_primary


def make_outgoing(
    scope: Scope,
    body: bytes,
    info: RequestInfo,
    *,
    seconds: float,
    command: CommandKey | None = None,
    held: bool = False,
) -> OutgoingCall:
    """The call to forward for a request."""
    hosts = header_values(scope, b"host")
    key, repeated = (command.text, command.repeated) if command else ("", False)
    return OutgoingCall(
        method_of(scope),
        target_of(scope),
        hosts[0] if hosts else b"",
        encode_headers(headers_of(scope), proxied=info.proxied),
        body,
        ForwardedCall(info.request_id, info.client, info.secure, key, repeated),
        seconds,
        held,
        digest_credentials(headers_of(scope)),
    )


def list_passed_on(reply: Reply, *, without: Iterable[bytes] = ()) -> list[tuple[bytes, bytes]]:
    """The headers of the primary's answer to pass on, without those that this server adds
    itself."""
    dropped = _NOT_PASSED_ON.union(without)
    kept = [(name, value) for name, value in reply.headers if name not in dropped]
    return [*kept, (b"content-length", b"%d" % len(reply.body))]


@runs(
    Domain.LOOP, "asks whether this process is primary; else sends small bodies to the one that is"
)
class Forwarding:
    """Forwards requests that need the primary. It is inside of the request limits and outside of
    the session."""

    def __init__(self, app: ASGIApp, site: "Site") -> None:
        self.app = app
        self._site = site
        self._forwarder = site.forwarder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            not self._forwarder.may_forward
            or not is_http(scope)
            or method_of(scope) in _SAFE
            or not _is_for_primary(scope)
        ):
            await self.app(scope, receive, send)
        elif request_info_of(scope).forwarded is None:
            command = _Command(self.app, self._site, scope, KeptBody(receive), _NotingSend(send))
            await carry_out_at_primary(command, self._site)
        elif self._forwarder.is_ready():
            await self.app(scope, receive, send)
        else:
            raise NotPrimary


class _Command:
    """A command of a person or a program. Its outcome is that it was answered."""

    def __init__(
        self, app: ASGIApp, site: "Site", scope: Scope, kept: KeptBody, send: "_NotingSend"
    ) -> None:
        self.info = request_info_of(scope)
        self._app = app
        self._site = site
        self._scope = scope
        self._kept = kept
        self._send = send
        self._key = CommandKey(secrets.token_hex(16))

    async def do_here(self) -> bool:
        self.info.command = self._key
        try:
            await self._app(self._scope, self._kept.again(), self._send)
        finally:
            self._key = CommandKey(self._key.text, repeated=True)
        return True

    async def ask_primary(self, spent: float) -> bool | None:
        scope, key = self._scope, self._key
        body = await _read_whole(scope, self._kept.again(), self._site)
        call = make_outgoing(scope, body, self.info, seconds=COMMAND_SECONDS, command=key)
        reply, key.repeated = await self._site.forwarder.ask(call.after(spent))
        if reply is None:
            return None
        await _send(reply, self._send)
        return True

    def may_repeat(self) -> bool:
        return not self._send.begun


class _NotingSend:
    """An ASGI `send` that notes whether an answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def __call__(self, message: Message) -> None:
        self.begun = True
        await self._send(message)


def _is_for_primary(scope: Scope) -> bool:
    """Whether the route of this request needs the primary."""
    route = find_route(scope)
    if route is None or not needs_primary(endpoint_of(route)):
        return False
    set_route(scope, route)
    return True


# Carries out a repeated command once: its key is set while the endpoint runs.

KEY_HEADER = b"idempotency-key"
LONGEST_KEY = 200


class _KeyedCommand:
    """The app of a route that needs the primary."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = "" if method_of(scope) in _SAFE else find_given_key(scope)
        key = request_info_of(scope).command
        if given:
            # The digest tells apart different bodies or queries sent with the same key.
            body = await _read_whole(scope, receive, site_of(Request(scope)))
            said = digest_body(b"%b\n%b" % (query_of(scope), body))
            key, receive = (
                CommandKey(given, repeated=True, body=said),
                Replayed.whole(body, receive),
            )
        if key is None:
            await self._app(scope, receive, send)
            return
        with command_key_scope(key):
            try:
                await self._app(scope, receive, send)
            except KeyReused:
                raise OtherBody from None


def find_given_key(scope: Scope) -> str:
    """A digest of the Idempotency-Key of a request, its endpoint and its caller; empty if the
    client gave no key. Raises BadRequest."""
    values = header_values(scope, KEY_HEADER)
    if not values:
        return ""
    if len(values) > 1 or not 0 < len(values[0]) <= LONGEST_KEY:
        raise BadRequest(f"An Idempotency-Key has 1 to {LONGEST_KEY} characters.")
    who = (session_of(scope).user, header(scope, b"authorization"))
    words = (*who, method_of(scope), path_of(scope), values[0].decode("latin-1"))
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:32]


def carry_out_keyed_commands_once(routes: Iterable[BaseRoute]) -> None:
    """Make these routes carry out commands once per key."""
    for route in routes:
        if isinstance(route, Route) and needs_primary(route.endpoint):
            route.app = _KeyedCommand(route.app)


# A body that is read before its endpoint checks who sends it.


async def _read_whole(scope: Scope, receive: Receive, site: "Site") -> bytes:
    """The whole body, whose size was limited further out. A large one is read only if its sender is
    known, and from few senders at once. Raises BodyTooSlow or ClientLeft: an incomplete command is
    not forwarded."""
    body, more = bytearray(), True
    while more and len(body) <= site.limits.strangers_bytes:
        message = await next_message(receive)
        body += body_in(message)
        more = has_more(message)
    if more:
        async with site.command_bodies.place(await _find_sender(scope, site)):
            async for piece in read_pieces(receive):
                body += piece
    return bytes(body)


async def _find_sender(scope: Scope, site: "Site") -> str:
    """The user that a token or a cookie is of; raises what the endpoint would, or BodyTooLarge."""
    if header(scope, b"authorization"):
        caller = await find_caller(Request(scope), site.bearers)
        return caller.user.name if caller else ""
    with contextlib.suppress(CookieRefused):
        cookie = cookie_in(header(scope, b"cookie"))
        if cookie and (user := site.cookies.open(cookie).data.user):
            return user
    raise BodyTooLarge


async def _send(reply: Reply, send: Send) -> None:
    headers = list_passed_on(reply, without=(name for name, _ in HEADERS))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
