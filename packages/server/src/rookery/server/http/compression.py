"""Compresses answers with gzip for clients that accept it: pages and JSON shrink to a fifth or
less.

The length of a compressed answer reveals what it has in common with a text that an attacker put
into it. Therefore the one secret of every page, the CSRF token of its forms, looks different in
each answer (web/session.py), and answers marked `no-store` are not compressed.
"""

from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.core.boundary.errors import Overloaded
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.packing import pack, takes_gzip
from rookery.server.http.scope import body_in, has_more, header, is_http, status_in

if TYPE_CHECKING:
    from rookery.server.app.site import Site

LEAST_BYTES = 1000
"""Smaller bodies are not worth compressing."""
MOST_ON_LOOP = 8000
PACKED = (b"content-encoding", b"gzip")
VARY = (b"vary", b"accept-encoding")
_TYPES = (b"text/html", b"text/plain", b"text/css", b"text/csv", b"application/json")


@runs(Domain.THREAD, "packs small answers where it is, large ones in a thread")
class Compression:
    """Compresses answers that come in one piece. Streams and compressed answers pass unchanged."""

    def __init__(self, app: ASGIApp, site: "Site") -> None:
        self.app = app
        self._threads = site.threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_http(scope) or not takes_gzip(header(scope, b"accept-encoding")):
            await self.app(scope, receive, send)
            return
        start: Message | None = None

        async def packing(message: Message) -> None:
            nonlocal start
            if status_in(message) is not None and _may_pack(message):
                start = message
                return
            if start is not None:
                head, start = start, None
                if not has_more(message):
                    message = await self._pack(head, message)
                await send(head)
            await send(message)

        await self.app(scope, receive, packing)

    async def _pack(self, head: Message, message: Message) -> Message:
        """Compress the body of an answer and adapt its headers; not where too many wait."""
        body = body_in(message)
        if len(body) < LEAST_BYTES:
            return message
        try:
            packed = await self._threads.cpu(pack, body) if len(body) > MOST_ON_LOOP else pack(body)
        except Overloaded:
            return message  # what was asked for is done, and may have changed something
        kept = [(name, value) for name, value in head["headers"] if name != b"content-length"]
        length = (b"content-length", str(len(packed)).encode())
        head["headers"] = [*kept, length, PACKED, VARY]
        return {**message, "body": packed}


def _may_pack(head: Message) -> bool:
    headers = dict(head.get("headers", ()))
    kind = headers.get(b"content-type", b"").split(b";")[0]
    whole = status_in(head) not in (204, 206, 304)
    return (
        whole
        and kind in _TYPES
        and b"content-encoding" not in headers
        and b"no-store" not in headers.get(b"cache-control", b"")
    )
