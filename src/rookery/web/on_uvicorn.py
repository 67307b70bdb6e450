"""HTTP by uvicorn, without its signals and its lifespan, within the limits of our own wire."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import cast

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from rookery.logs import Log
from rookery.web.limits import RequestBounds
from rookery.web.serving import BACKLOG, HEAD_BYTES, KEEP_ALIVE_SECONDS, UVICORN, Carrier, NewLoop
from rookery.web.short_path import ShortCall, ShortPath, read_whole, short_path_of
from rookery.web.site import Site

# The HTTP/1.1 connection: uvicorn's, with limits on what may come before a request is whole.

SMALL_BODY_BYTES = 64 * 1024
# What is read over of a body that was answered before it came, so that the answer is not lost and
# the connection may be used again.
UNREAD_BYTES = 2 * 1024 * 1024

_OK = b"HTTP/1.1 200 OK\r\n"
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
    short: ShortPath | None = None
    _dated: tuple[object, bytes] = (None, b"")
    _active_at = 0.0
    _waiting: ShortCall | None = None
    _later = b""
    _leaving = False
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
        self._stop_keep_alive()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._waiting is not None:
            self._put_off(data)
        elif not self._is_whole or not self._begin_short(data):
            self._feed(data)

    def shutdown(self) -> None:
        self._leaving = True
        if self._waiting is None:
            super().shutdown()

    def _feed(self, data: bytes) -> None:
        """The usual way, by uvicorn's parser and as an ASGI request."""
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
        if self._is_whole:
            return
        self._be_patient(self.limits.head_seconds)
        if not self._in_head and not self._in_body:
            # Most requests are whole by now, and need no second timer.
            self._in_body = True
            self.cycle.transport = cast("asyncio.Transport", _Lingering(self))
            if self._patience is not None:
                self._need_no_patience()
                self._be_patient(self.limits.body_seconds)

    def on_message_begin(self) -> None:
        self._in_head, self._in_body, self._head_bytes = True, False, 0
        self._is_whole = False
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
        self._stop_keep_alive()
        super().on_response_complete()

    # The short way of workers' calls that come whole in one piece: no task and no messages. What
    # comes after one that waits for its commit is put off until that is answered.

    def _begin_short(self, data: bytes) -> bool:
        """Whether the request is taken; an answer may have to wait."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if self.short is None or self._leaving or (cycle and not cycle.response_complete):
            return False
        request = read_whole(data)
        peer = self.client[0] if self.client else ""
        call = request and self.short.begin(request, peer, self.scheme or "http")
        if not call:
            return False
        self._need_no_patience()
        self._unset_keepalive_if_required()
        if call.committed is None:
            self._finish_short(data, call)
        else:
            # What uvicorn waits for at a stop, and cancels at the end of the drain.
            waiting = cast("asyncio.Task[None]", call.committed)
            self._waiting = call
            self.tasks.add(waiting)
            waiting.add_done_callback(partial(self._end_wait, data, call))
        return True

    def _end_wait(self, data: bytes, call: ShortCall, waiting: "asyncio.Task[None]") -> None:
        self.tasks.discard(waiting)
        self._finish_short(data, call)

    def _finish_short(self, data: bytes, call: ShortCall) -> None:
        assert self.short is not None
        self._waiting = None
        body = self.short.finish(call)
        if self.transport.is_closing():
            return
        if body is None:
            self._feed(data)
        else:
            self._write_short(call.request_id, body)
        if self._later:
            later, self._later = self._later, b""
            self.flow.resume_reading()
            self.data_received(later)

    def _write_short(self, request_id: str, body: bytes) -> None:
        closing = b"connection: close\r\n" if self._leaving else b""
        lines = self._head(), len(body), request_id.encode(), closing, body
        self.transport.write(b"%bcontent-length: %d\r\nx-request-id: %b\r\n%b\r\n%b" % lines)
        self.server_state.total_requests += 1
        if self._leaving:
            self.transport.close()
        elif self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _put_off(self, data: bytes) -> None:
        self._later += data
        if len(self._later) > HEAD_BYTES:
            self.flow.pause_reading()

    def _head(self) -> bytes:
        """What all answers of a second begin with: uvicorn gives them the date."""
        headers = self.server_state.default_headers
        if self._dated[0] is not headers:
            lines = b"".join(b"%b: %b\r\n" % each for each in headers)
            self._dated = headers, b"%b%bcontent-type: application/json\r\n" % (_OK, lines)
        return self._dated[1]

    # One timer for an idle connection that looks again when it is due: most calls are followed by
    # another, and to make and cancel a timer for each costs as much as to parse it.

    def _unset_keepalive_if_required(self) -> None:
        self._active_at = self.loop.time()

    def timeout_keep_alive_handler(self) -> None:
        self.timeout_keep_alive_task = None
        cycle = cast("RequestResponseCycle | None", self.cycle)
        busy = self._waiting is not None or (cycle is not None and not cycle.response_complete)
        left = self._active_at + self.timeout_keep_alive - self.loop.time()
        if left > 0 or busy:
            seconds = max(left, 1.0)
            self.timeout_keep_alive_task = self.loop.call_later(
                seconds, self.timeout_keep_alive_handler
            )
        else:
            super().timeout_keep_alive_handler()

    def _stop_keep_alive(self) -> None:
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None

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


def protocol(log: Log, limits: RequestBounds, short: ShortPath | None = None) -> type[LimitedHttp]:
    """uvicorn makes the connections, so what these need comes along with the class."""
    return type("RookeryHttp", (LimitedHttp,), {"log": log, "limits": limits, "short": short})


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
        http=protocol(site.log, site.limits, short_path_of(app)),
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
