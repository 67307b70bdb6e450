"""HTTP by uvicorn, without its signals and its lifespan, within the limits of our own wire."""

import contextlib
import socket
from collections.abc import Callable, Iterator

import uvicorn
from starlette.applications import Starlette

from rookery.web.house import House
from rookery.web.serving import BACKLOG, KEEP_ALIVE_SECONDS, UVICORN, Carrier, NewLoop
from rookery.web.wire import protocol


def carrier() -> Carrier:
    return Carrier(UVICORN, UvicornServer, loop_factory())


def loop_factory() -> NewLoop | None:
    """uvloop where it is installed; None means Python's own."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


class UvicornServer:
    """uvicorn behind the port."""

    def __init__(self, app: Starlette, house: House, drain: int) -> None:
        self._server = _Uvicorn(_config(app, house, drain))

    async def serve(self, listening: socket.socket, say: Callable[[], object]) -> None:
        self._server.on_listening = say
        await self._server.serve(sockets=[listening])

    def stop(self) -> None:
        self._server.should_exit = True

    def connections(self) -> int:
        return len(self._server.server_state.connections)


def nothing() -> None:
    """Nobody wants to know."""


class _Uvicorn(uvicorn.Server):
    """uvicorn without its signal handling, which says when it listens."""

    on_listening: Callable[[], object] = nothing

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_listening()


def _config(app: Starlette, house: House, drain: int) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol(house.log, house.limits),
        ws="none",
        lifespan="off",  # driven by us, so that a failed start is an exception of ours
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        limit_concurrency=None,  # overload queues in the kernel
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=drain,
    )
