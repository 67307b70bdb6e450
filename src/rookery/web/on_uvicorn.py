"""HTTP by uvicorn, without its signals and its lifespan, within the limits of our own wire."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import cast

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rookery.logs import Log
from rookery.web.limits import RequestBounds
from rookery.web.serving import BACKLOG, HEAD_BYTES, KEEP_ALIVE_SECONDS, UVICORN, Carrier, NewLoop
from rookery.web.site import Site

# The HTTP/1.1 connection: uvicorn's, with limits on what may come before a request is whole.

SMALL_BODY_BYTES = 64 * 1024
# What is read over of a body that was answered before it came, so that the answer is not lost and
# the connection may be used again.
UNREAD_BYTES = 2 * 1024 * 1024

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: text/plain; charset=utf-8\r\n"
    b"content-length: 46\r\n"
    b"connection: close\r\n\r\n"
    b"The request's headers are too large or many.\r\n"
)


class LimitedHttp(HttpToolsProtocol):
    """A client that sends headers without end, or none, is cut off; the parser alone would wait."""

    log: Log
    limits: RequestBounds
    _head_bytes = 0
    _body_bytes = 0
    _in_head = True
    _in_body = False
    _patience: asyncio.TimerHandle | None = None
    _is_whole = True
    _unread: int | None = None
    _close_after = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        self._be_patient(self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._need_no_patience()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._unread is not None:
            self._unread += len(data)
            if self._unread > UNREAD_BYTES:
                self.transport.close()
                return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES and self._is_still_head(data):
                self._refuse()
                return
        super().data_received(data)
        if not self._is_whole and not self._in_head and not self._in_body:
            # Most requests are whole by now, and need no second timer.
            self._in_body = True
            self.cycle.transport = cast("asyncio.Transport", _Lingering(self))
            if self._patience is not None:
                self._need_no_patience()
                self._be_patient(self.limits.body_seconds)

    def on_message_begin(self) -> None:
        self._in_head, self._in_body, self._head_bytes = True, False, 0
        self._is_whole = False
        self._be_patient(self.limits.head_seconds)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head, self._body_bytes = False, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes > SMALL_BODY_BYTES and self._unread is None:
            # Whoever reads it limits the time of each piece.
            self._need_no_patience()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_whole, self._unread = True, None
        self._need_no_patience()
        super().on_message_complete()
        if self._close_after:
            self.transport.close()

    def on_response_complete(self) -> None:
        if not self._is_whole and self.cycle.response_complete:
            self.read_over()
        super().on_response_complete()

    def read_over(self) -> None:
        """The rest of a body that nobody wants: not much of it, and not for long."""
        if self._unread is None:
            self._unread = 0
            self._need_no_patience()
            self._be_patient(self.limits.body_seconds)

    def close_gently(self) -> None:
        """A closed connection with something unread in it would take the answer along."""
        if self._is_whole:
            self.transport.close()
        else:
            self._close_after = True
            self.read_over()
            self.flow.resume_reading()

    def send_400_response(self, msg: str) -> None:
        self.log.warning("request_unreadable", client=self._peer())
        super().send_400_response(msg)

    def _is_still_head(self, data: bytes) -> bool:
        """A large first piece may be a small head and much body."""
        return b"\r\n\r\n" not in data[:HEAD_BYTES]

    def _refuse(self) -> None:
        self.log.warning("request_head_too_large", client=self._peer())
        self.transport.write(_TOO_LARGE)
        self.transport.close()

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.log.info("request_never_came", client=self._peer())
            self.transport.close()

    def _be_patient(self, seconds: float) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(seconds, self._give_up)

    def _need_no_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _peer(self) -> str:
        return self.client[0] if self.client else ""


class _Lingering:
    """The connection as a request sees it whose body is not whole when it is begun."""

    def __init__(self, wire: LimitedHttp) -> None:
        self._wire = wire

    def write(self, data: bytes) -> None:
        self._wire.transport.write(data)

    def is_closing(self) -> bool:
        return self._wire.transport.is_closing()

    def close(self) -> None:
        self._wire.close_gently()


def protocol(log: Log, limits: RequestBounds) -> type[LimitedHttp]:
    """uvicorn makes the connections, so the log and the limits come along with the class."""
    return type("RookeryHttp", (LimitedHttp,), {"log": log, "limits": limits})


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

    def __init__(self, app: Starlette, site: Site, drain: int) -> None:
        self._server = _Uvicorn(_config(app, site, drain))

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


def _config(app: Starlette, site: Site, drain: int) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol(site.log, site.limits),
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
