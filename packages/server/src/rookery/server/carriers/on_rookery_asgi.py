"""Serves HTTP with rookery-asgi, if it is installed beside Rookery.

rookery-asgi is a separate distribution and no dependency of Rookery. It is looked for only when a
setting asks for it, and imported only then.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.applications import Starlette

from rookery.server.carriers.serving import (
    BACKLOG,
    HEAD_BYTES,
    KEEP_ALIVE_SECONDS,
    ROOKERY_ASGI,
    HttpBackend,
)
from rookery.server.http.limits import RequestBounds
from rookery.server.logs import Log
from rookery.server.worker_api.short_path import outermost_short_path

if TYPE_CHECKING:
    from rookery_asgi import Options
    from rookery_asgi.server import Server

    from rookery.server.app.site import Site

NOT_INSTALLED = "rookery-asgi is not installed; install it with `pip install ./asgi`."
# Requests that the server refuses itself, before the app could answer, with their log events.
EVENTS = {408: "request_never_came", 431: "request_head_too_large"}


def why_unavailable() -> str | None:
    """The reason, as a sentence, why rookery-asgi can't serve here; None if it can."""
    try:
        import rookery_asgi
    except ImportError:
        return NOT_INSTALLED
    return rookery_asgi.unavailable()


def make_backend() -> HttpBackend:
    """Make the server with its own event loop, which starts a request's task at once. All imports
    happen here, before the loop runs, since imports read files."""
    from rookery_asgi.loops import new_loop
    from rookery_asgi.server import Server

    def server(app: Starlette, site: "Site", drain: int) -> RookeryAsgiServer:
        return RookeryAsgiServer(
            Server(
                outermost_short_path(app),
                _make_options(drain, site.limits),
                refused=_refusal_logger(site.log),
            )
        )

    return HttpBackend(ROOKERY_ASGI, server, new_loop)


class RookeryAsgiServer:
    """Serves a site by rookery-asgi."""

    def __init__(self, server: "Server") -> None:
        self._server = server

    async def serve(self, listening: socket.socket, say: Callable[[], object]) -> None:
        announcing = asyncio.create_task(self._announce_listening(say), name="http server listens")
        try:
            await self._server.serve([listening])
        finally:
            announcing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await announcing

    def stop(self) -> None:
        self._server.stop()

    def connections(self) -> int:
        counters = self._server.counters()
        return int(counters["open"]) if counters else 0

    async def _announce_listening(self, say: Callable[[], object]) -> None:
        await self._server.listening.wait()
        say()


def _make_options(drain: int, limits: RequestBounds) -> "Options":
    from rookery_asgi import Options

    return Options(
        lifespan="off",  # the start is ours, so that its exceptions are seen
        ws=False,
        proxy_headers=False,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        limit_request_line=HEAD_BYTES,  # the app answers a request with a long address
        limit_head=HEAD_BYTES,
        timeout_head=limits.head_seconds,
        timeout_body=limits.body_seconds,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=drain,
        timeout_disconnect=0,  # when draining ends, running requests answer 503 and end
    )


def _refusal_logger(log: Log) -> Callable[[tuple[str, int | None] | None, int], object]:
    def note(client: tuple[str, int | None] | None, status: int) -> None:
        event = EVENTS.get(status, "request_unreadable")
        log.warning(event, client=client[0] if client else "", status=status)

    return note
