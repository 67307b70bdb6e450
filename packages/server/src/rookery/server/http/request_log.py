"""Gives each request an id and finds its sender, counts and times answers by route, and logs them
if wanted."""

from collections.abc import Mapping
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import busy_answer, outdated_answer
from rookery.server.http.bodies import CheckedBody
from rookery.server.http.command_keys import CommandKey
from rookery.server.http.internal_calls import (
    FORWARDED,
    ForwardedCall,
    SignedRequest,
    digest_body,
    digest_credentials,
)
from rookery.server.http.limits import is_ipv4
from rookery.server.http.scope import (
    Audience,
    RequestInfo,
    add_headers,
    audience_in,
    header,
    header_values,
    headers_of,
    is_http,
    method_of,
    path_of,
    peer_of,
    request_info_of,
    scheme_of,
    set_request_info,
    status_in,
    target_of,
    template_of,
)

if TYPE_CHECKING:
    from rookery.server.app.site import Site

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BROKEN_OFF = 0
MOST_WAITING = 1000
"""How many requests of people may wait for their turn. Each holds memory, also after its client has
left."""


class RequestLog:
    """Counts requests by route, and logs each if the access log is on."""

    def __init__(self, site: "Site") -> None:
        self._site = site
        self._traffic = site.traffic

    def add_arrival(self) -> None:
        """Count a request whose handling begins."""
        self._traffic.inside += 1

    def drop_arrival(self) -> None:
        """Undo `add_arrival`, because the request is handled again from its beginning."""
        self._traffic.inside -= 1

    def add_request(self, scope: Scope, info: RequestInfo, status: int) -> None:
        route, path, method = template_of(scope), path_of(scope), method_of(scope)
        self.add_response(route, path, method, status, info.started, info.client, info.request_id)

    def add_response(
        self,
        route: str,
        path: str,
        method: str,
        status: int,
        started: float,
        client: str,
        request_id: str,
    ) -> None:
        """Count a request that was answered or broken off."""
        self._traffic.inside -= 1
        seconds = self._site.clock.seconds() - started
        # Clients can invent methods; these must not create new counters.
        counted = method if method in _METHODS else "other"
        self._traffic.note(route, counted, status, seconds)
        if self._site.settings.access_log:
            self._site.log.info(
                "request",
                method=method,
                path=path,
                status=status,
                ms=round(seconds * 1000, 3),
                client=client,
                request=request_id,
            )


@runs(Domain.LOOP, "two clock readings and a counter")
class Measure:
    """Counts and times every request, also those that other middleware answers."""

    def __init__(self, app: ASGIApp, site: "Site") -> None:
        self.app = app
        self._request_log = RequestLog(site)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_http(scope):
            await self.app(scope, receive, send)
            return
        info, status = request_info_of(scope), BROKEN_OFF

        async def noting(message: Message) -> None:
            nonlocal status
            started = status_in(message)
            if started is not None:
                status = started
                add_headers(message, [(b"x-request-id", info.request_id.encode())])
            await send(message)

        self._request_log.add_arrival()
        try:
            await self.app(scope, receive, noting)
        finally:
            self._request_log.add_request(scope, info, status)


# Determines the identity of each request: its id, its start and its client.


class RequestIdentifier:
    """Gives each request an id (a word chosen at the start of the process and a running number) and
    finds its client."""

    def __init__(self, site: "Site", word: str) -> None:
        self._clock = site.clock
        self._internal = site.internal_key
        self._word = word
        self._numbers = count(1)
        # The same few proxies and thousands of clients call again and again.
        self._trust = lru_cache(maxsize=4096)(site.proxies.trust)
        self._seen_through = lru_cache(maxsize=32_768)(site.proxies.client)

    def identify(self, scope: Scope) -> RequestInfo:
        if forwarded := self._forwarded(scope):
            return RequestInfo(
                request_id=forwarded.request_id,
                started=self._clock.seconds(),
                client=forwarded.client,
                secure=forwarded.secure,
                audience=audience_in(scope),
                proxied=True,
                forwarded=forwarded,
                command=CommandKey(forwarded.key, forwarded.repeated) if forwarded.key else None,
            )
        peer = peer_of(scope)
        through = self._trust(peer)
        return RequestInfo(
            request_id=self.next_id(),
            started=self._clock.seconds(),
            client=self._client(scope, peer) if through else peer,
            secure=_is_secure(scope, through),
            audience=audience_in(scope),
            proxied=through,
        )

    def next_id(self) -> str:
        return f"{self._word}-{next(self._numbers)}"

    def client(self, peer: str, forwarded: bytes | None) -> tuple[str, bool]:
        """The client's address and whether a trusted proxy is in between, for requests with at most
        one X-Forwarded-For header."""
        through = self._trust(peer)
        if not through or forwarded is None:
            return peer, through
        # Each of 100,000 workers has its own address, and what a proxy wrote is usually just that.
        if is_ipv4(text := forwarded.decode("latin-1")):
            return text, through
        return self._seen_through(peer, (text,)), through

    def verify(
        self, target: bytes, headers: Mapping[bytes, bytes], body: bytes
    ) -> ForwardedCall | None:
        """The forwarding data of a posted call, if another instance has sent it on."""
        value = headers.get(FORWARDED)
        if value is None:
            return None
        credentials = digest_credentials(headers.items())
        request = SignedRequest("POST", target, headers.get(b"host", b""), credentials)
        found = self._internal.verify(request, value)
        return found if found and found.has_body(digest_body(body)) else None

    def _forwarded(self, scope: Scope) -> ForwardedCall | None:
        values, hosts = header_values(scope, FORWARDED), header_values(scope, b"host")
        if len(values) != 1 or len(hosts) > 1:
            return None
        host, credentials = hosts[0] if hosts else b"", digest_credentials(headers_of(scope))
        request = SignedRequest(method_of(scope), target_of(scope), host, credentials)
        return self._internal.verify(request, values[0])

    def _client(self, scope: Scope, peer: str) -> str:
        lines = header_values(scope, b"x-forwarded-for")
        return self._seen_through(peer, tuple(line.decode("latin-1") for line in lines))


@runs(Domain.LOOP, "a few fields per request")
class RequestState:
    """The outermost middleware: identifies each request once. People's requests wait for their
    turn."""

    def __init__(self, app: ASGIApp, site: "Site", word: str) -> None:
        self.app = app
        self._identifier = RequestIdentifier(site, word)
        self._turns = site.turns
        self._clock = site.clock
        self._log = site.log
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_http(scope):
            info = self._identifier.identify(scope)
            set_request_info(scope, info)
            if info.forwarded is not None and info.forwarded.seconds_late:
                await outdated_answer(self._clock.now())(scope, receive, send)
                return
            if info.audience is Audience.PERSON:
                if self._waiting >= MOST_WAITING:
                    self._log.warning("request_refused", status=503, why="Overloaded")
                    await busy_answer()(scope, receive, send)
                    return
                await self._wait_for_turn()
            if info.forwarded is not None:
                receive = CheckedBody(info.forwarded, receive)
        await self.app(scope, receive, send)

    async def _wait_for_turn(self) -> None:
        self._waiting += 1
        try:
            await self._turns.take()
        finally:
            self._waiting -= 1


def _is_secure(scope: Scope, through_proxy: bool) -> bool:
    forwarded = header(scope, b"x-forwarded-proto") if through_proxy else ""
    return (forwarded or scheme_of(scope)).strip().lower() == "https"
