"""Serves HTTP with uvicorn, without its signals and lifespan."""

import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette

from rookery.server.carriers.serving import (
    BACKLOG,
    KEEP_ALIVE_SECONDS,
    UVICORN,
    HttpBackend,
    NewLoop,
)
from rookery.server.carriers.uvicorn_connection import make_protocol
from rookery.server.worker_api.short_path import short_path_of

if TYPE_CHECKING:
    from rookery.server.app.site import Site


def make_backend() -> HttpBackend:
    return HttpBackend(UVICORN, UvicornServer, loop_factory())


def loop_factory() -> NewLoop | None:
    """uvloop's loop if it is installed; None stands for Python's own."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


class UvicornServer:
    """Serves a site with uvicorn."""

    def __init__(self, app: Starlette, site: "Site", drain: int) -> None:
        self._server = _Uvicorn(_make_config(app, site, drain))

    async def serve(self, listening: socket.socket, say: Callable[[], object]) -> None:
        self._server.on_listening = say
        await self._server.serve(sockets=[listening])

    def stop(self) -> None:
        self._server.should_exit = True

    def connections(self) -> int:
        return len(self._server.server_state.connections)


def nothing() -> None:
    """The default of `on_listening`: does nothing."""


class _Uvicorn(uvicorn.Server):
    """uvicorn without its signal handling. It reports when it listens."""

    on_listening: Callable[[], object] = nothing

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_listening()


def _make_config(app: Starlette, site: "Site", drain: int) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=make_protocol(site.log, site.limits, short_path_of(app)),
        ws="none",
        lifespan="off",  # the start is ours, so that its exceptions are seen
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        limit_concurrency=None,  # excess connections queue in the kernel
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=drain,
    )
