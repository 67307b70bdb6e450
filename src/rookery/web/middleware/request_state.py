"""Gives each request its identity: an id, its start, and who is at the other end."""

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


@runs(Domain.LOOP, "a few fields per request")
class RequestState:
    """Ids are a word chosen at the start of the process and a running number."""

    def __init__(self, app: ASGIApp, kit: Kit, word: str) -> None:
        self.app = app
        self._clock = kit.house.clock
        self._proxies = kit.house.proxies
        self._word = word
        self._numbers = count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_http(scope):
            set_facts(scope, self._facts(scope))
        await self.app(scope, receive, send)

    def _facts(self, scope: Scope) -> Facts:
        peer = peer_of(scope)
        through = self._proxies.trust(peer) if self._proxies.networks else False
        return Facts(
            request_id=f"{self._word}-{next(self._numbers)}",
            started=self._clock.seconds(),
            client=self._client(scope, peer) if through else peer,
            secure=self._is_secure(scope, through),
            audience=audience_in(scope),
        )

    def _client(self, scope: Scope, peer: str) -> str:
        lines = [value.decode("latin-1") for value in header_values(scope, b"x-forwarded-for")]
        return self._proxies.client(peer, lines)

    def _is_secure(self, scope: Scope, through_proxy: bool) -> bool:
        forwarded = header(scope, b"x-forwarded-proto") if through_proxy else ""
        return (forwarded or scheme_of(scope)).strip().lower() == "https"
