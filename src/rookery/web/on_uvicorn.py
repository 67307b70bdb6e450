"""Serves HTTP with uvicorn, without its signals and lifespan, with limits on each connection."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import cast

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from rookery.logs import Log
from rookery.web.limits import RequestBounds
from rookery.web.primary_link import Reply
from rookery.web.serving import (
    BACKLOG,
    HEAD_BYTES,
    KEEP_ALIVE_SECONDS,
    UVICORN,
    HttpBackend,
    NewLoop,
)
from rookery.web.short_path import ShortCall, ShortPath, short_path_of
from rookery.web.site import Site
from rookery.web.to_primary import list_passed_on
from rookery.web.whole_requests import parse_whole_request

# The HTTP/1.1 connection: uvicorn's, with limits on what may be received before a request is
# complete.

SMALL_BODY_BYTES = 64 * 1024
# How much is read and dropped of a body that was answered early, so that the answer is not lost and
# the connection can be reused.
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
    """uvicorn's HTTP connection with limits on size and time, and with the short path of workers. A
    client that sends no headers, or headers without end, is disconnected."""

    log: Log
    limits: RequestBounds
    short: ShortPath | None = None
    _cached_head: tuple[object, bytes] = (None, b"")
    _active_at = 0.0
    _waiting: ShortCall | None = None
    _later = b""
    _shutting_down = False
    _head_bytes = 0
    _body_bytes = 0
    _in_head = True
    _in_body = False
    _timer: asyncio.TimerHandle | None = None
    _is_whole = True
    _unread: int | None = None
    _close_after = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        self._start_timer(self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_keep_alive()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._waiting is not None:
            self._postpone(data)
        elif not self._is_whole or not self._begin_short(data):
            self._feed(data)

    def shutdown(self) -> None:
        self._shutting_down = True
        if self._waiting is None:
            super().shutdown()

    def _feed(self, data: bytes) -> None:
        """Pass data to uvicorn's parser, which makes ASGI requests of it."""
        if self._unread is not None:
            self._unread += len(data)
            if self._unread > UNREAD_BYTES:
                self.transport.close()
                return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES and self._is_still_head(data):
                self._refuse_large_head()
                return
        super().data_received(data)
        if self._is_whole:
            return
        self._start_timer(self.limits.head_seconds)
        if not self._in_head and not self._in_body:
            # Most requests are complete by now and need no second timer.
            self._in_body = True
            self.cycle.transport = cast("asyncio.Transport", _DelayedClose(self))
            if self._timer is not None:
                self._stop_timer()
                self._start_timer(self.limits.body_seconds)

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
            # The reader of the body limits the time of each piece.
            self._stop_timer()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_whole, self._unread = True, None
        self._stop_timer()
        super().on_message_complete()
        if self._close_after:
            self.transport.close()

    def on_response_complete(self) -> None:
        if not self._is_whole and self.cycle.response_complete:
            self.discard_rest_of_body()
        self._stop_keep_alive()
        super().on_response_complete()

    # The short path of workers' calls that arrive complete in one piece: without a task and without
    # ASGI messages. Data that follows a call which waits for its commit is kept until that call is
    # answered.

    def _begin_short(self, data: bytes) -> bool:
        """Handle data as one call of a worker. Returns False if uvicorn's parser has to handle
        it."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if self.short is None or self._shutting_down or (cycle and not cycle.response_complete):
            return False
        request = parse_whole_request(data)
        peer = self.client[0] if self.client else ""
        call = request and self.short.begin(request, peer, self.scheme or "http")
        if not call:
            return False
        self._stop_timer()
        self._unset_keepalive_if_required()
        if call.committed is None:
            self._finish_short(data, call)
        else:
            # uvicorn waits for these at a stop, and cancels them at the end of the drain.
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
        elif isinstance(body, Reply):
            self._write_short(call.request_id, body.body, self._reply_head(body))
        else:
            self._write_short(call.request_id, body, self._response_head())
        if self._later:
            later, self._later = self._later, b""
            self.flow.resume_reading()
            self.data_received(later)

    def _write_short(self, request_id: str, body: bytes, head: bytes) -> None:
        closing = b"connection: close\r\n" if self._shutting_down else b""
        lines = head, len(body), request_id.encode(), closing, body
        self.transport.write(b"%bcontent-length: %d\r\nx-request-id: %b\r\n%b\r\n%b" % lines)
        self.server_state.total_requests += 1
        if self._shutting_down:
            self.transport.close()
        elif self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _postpone(self, data: bytes) -> None:
        self._later += data
        if len(self._later) > HEAD_BYTES:
            self.flow.pause_reading()

    def _response_head(self) -> bytes:
        """The status line and common headers, encoded once a second when uvicorn renews the
        date."""
        headers = self.server_state.default_headers
        if self._cached_head[0] is not headers:
            lines = b"".join(b"%b: %b\r\n" % each for each in headers)
            self._cached_head = headers, b"%b%bcontent-type: application/json\r\n" % (_OK, lines)
        return self._cached_head[1]

    def _reply_head(self, reply: Reply) -> bytes:
        """The status line and headers of an answer of the primary."""
        passed_on = (each for each in list_passed_on(reply) if each[0] != b"content-length")
        headers = (*self.server_state.default_headers, *passed_on)
        lines = b"".join(b"%b: %b\r\n" % each for each in headers)
        return b"%b%b" % (STATUS_LINE[reply.status], lines)

    # An idle connection has one timer, which checks when it runs out: most calls are followed by
    # another, and making and cancelling a timer for each would cost as much as parsing it.

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

    def discard_rest_of_body(self) -> None:
        """Read and drop the rest of a body that was answered early, within limits."""
        if self._unread is None:
            self._unread = 0
            self._stop_timer()
            self._start_timer(self.limits.body_seconds)

    def close_after_body(self) -> None:
        """Close the connection once the body has been read. Closing with unread data could lose the
        response."""
        if self._is_whole:
            self.transport.close()
        else:
            self._close_after = True
            self.discard_rest_of_body()
            self.flow.resume_reading()

    def send_400_response(self, msg: str) -> None:
        self.log.warning("request_unreadable", client=self._peer())
        super().send_400_response(msg)

    def _is_still_head(self, data: bytes) -> bool:
        """Whether the end of the headers is still to come. A large piece may have few headers and
        much of the body."""
        return b"\r\n\r\n" not in data[:HEAD_BYTES]

    def _refuse_large_head(self) -> None:
        self.log.warning("request_head_too_large", client=self._peer())
        self.transport.write(_TOO_LARGE)
        self.transport.close()

    def _close_idle(self) -> None:
        if not self.transport.is_closing():
            self.log.info("request_never_came", client=self._peer())
            self.transport.close()

    def _start_timer(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(seconds, self._close_idle)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _peer(self) -> str:
        return self.client[0] if self.client else ""


class _DelayedClose:
    """The transport of a request that begins before its body is complete. It closes only after the
    body."""

    def __init__(self, wire: LimitedHttp) -> None:
        self._wire = wire

    def write(self, data: bytes) -> None:
        self._wire.transport.write(data)

    def is_closing(self) -> bool:
        return self._wire.transport.is_closing()

    def close(self) -> None:
        self._wire.close_after_body()


def make_protocol(
    log: Log, limits: RequestBounds, short: ShortPath | None = None
) -> type[LimitedHttp]:
    """A connection class with bound dependencies, since uvicorn creates the connections itself."""
    return type("RookeryHttp", (LimitedHttp,), {"log": log, "limits": limits, "short": short})


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

    def __init__(self, app: Starlette, site: Site, drain: int) -> None:
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


def _make_config(app: Starlette, site: Site, drain: int) -> uvicorn.Config:
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
