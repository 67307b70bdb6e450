"""Gives each request its identity: an id, its start, and who is at the other end."""

from functools import lru_cache
from itertools import count

from starlette.types import ASGIApp, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.web.kit import Kit
from rookery.web.scope import (
    Facts,
    audience_in,
    header,
    header_values,
    is_http,
    peer_of,
    scheme_of,
    set_facts,
)


class Arrivals:
    """Ids are a word chosen at the start of the process and a running number."""

    def __init__(self, kit: Kit, word: str) -> None:
        self._clock = kit.house.clock
        self._word = word
        self._numbers = count(1)
        # The same few proxies and thousands of clients call again and again.
        self._trust = lru_cache(maxsize=4096)(kit.house.proxies.trust)
        self._seen_through = lru_cache(maxsize=32_768)(kit.house.proxies.client)

    def facts(self, scope: Scope) -> Facts:
        peer = peer_of(scope)
        through = self._trust(peer)
        return Facts(
            request_id=f"{self._word}-{next(self._numbers)}",
            started=self._clock.seconds(),
            client=self._client(scope, peer) if through else peer,
            secure=_is_secure(scope, through),
            audience=audience_in(scope),
            proxied=through,
        )

    def _client(self, scope: Scope, peer: str) -> str:
        lines = header_values(scope, b"x-forwarded-for")
        return self._seen_through(peer, tuple(line.decode("latin-1") for line in lines))


@runs(Domain.LOOP, "a few fields per request")
class RequestState:
    """Each request is met once, at the outermost."""

    def __init__(self, app: ASGIApp, kit: Kit, word: str) -> None:
        self.app = app
        self._arrivals = Arrivals(kit, word)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_http(scope):
            set_facts(scope, self._arrivals.facts(scope))
        await self.app(scope, receive, send)


def _is_secure(scope: Scope, through_proxy: bool) -> bool:
    forwarded = header(scope, b"x-forwarded-proto") if through_proxy else ""
    return (forwarded or scheme_of(scope)).strip().lower() == "https"
