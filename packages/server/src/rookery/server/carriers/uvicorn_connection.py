"""A connection of uvicorn with limits: on what a request may be, on its size, and on the time it
may take to arrive."""

import asyncio
import re
from functools import partial
from typing import NoReturn, cast

import httptools
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from rookery.server.carriers.connection_flow import ConnectionFlow
from rookery.server.carriers.message_pieces import MessagePieces
from rookery.server.carriers.serving import HEAD_BYTES
from rookery.server.http.limits import RequestBounds
from rookery.server.http.primary_link import Reply
from rookery.server.http.request_policy import (
    HEAD_TOO_LARGE,
    UNREADABLE,
    RefusedRequest,
    RequestRefused,
    encode_refusal,
    why_refused,
)
from rookery.server.http.scope import set_known_call
from rookery.server.http.to_primary import list_passed_on
from rookery.server.http.whole_requests import parse_whole_request
from rookery.server.logs import Log
from rookery.server.worker_api.short_path import ShortCall, ShortPath

# The app refuses a hundred with an answer of its own. Each takes thirty times the memory of its
# bytes.
MOST_HEADERS = 256
# How much is parsed of one connection before it is the turn of others.
TURN_BYTES = 16 * 1024
SMALL_BODY_BYTES = 64 * 1024
# How much is read and dropped of a body that was answered early, so that the answer is not lost and
# the connection can be reused.
UNREAD_BYTES = 2 * 1024 * 1024
# How long a refused client may take to read the refusal and close.
LINGER_SECONDS = 5.0

_BLANK_LINES = re.compile(rb"[\r\n]+")
_OK = b"HTTP/1.1 200 OK\r\n"


class LimitedHttp(HttpToolsProtocol):
    """uvicorn's HTTP connection with limits on size and time, and with the short path of workers.
    One request is read at a time: what follows it is kept until it is answered."""

    log: Log
    limits: RequestBounds
    short: ShortPath | None = None
    _cached_head: tuple[object, bytes] = (None, b"")
    _active_at = 0.0
    _waiting: ShortCall | None = None
    _known: object = None
    """What was found out about the call that the parser is given next."""
    _later = b""
    _pieces: MessagePieces
    _flow: ConnectionFlow
    _shutting_down = False
    _between = 0
    """Bytes since the last message, head or piece of a body: lines of a head, of chunks or trailers
    that may have no end."""
    _body_bytes = 0
    _in_head = True
    _in_body = False
    _timer: asyncio.TimerHandle | None = None
    _had_trailers = False
    _is_whole = True
    _unread: int | None = None
    _close_after = False
    _refusal = UNREADABLE
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        self.flow = self._flow = ConnectionFlow(transport, self.limits.unread_seconds)
        self._pieces = MessagePieces()
        self._start_timer(self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_keep_alive()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            self._drop(data)
        elif self._later or self._is_busy():
            self._postpone(data)
        else:
            self._handle(data)

    def shutdown(self) -> None:
        self._shutting_down = True
        if self._waiting is None:
            super().shutdown()

    def _is_busy(self) -> bool:
        """Whether a request has arrived completely and is not answered."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        under_way = self._is_whole and cycle is not None and not cycle.response_complete
        return self._waiting is not None or under_way

    def _postpone(self, data: bytes) -> None:
        self._later += data
        self._flow.hold()

    def _go_on(self) -> None:
        """Handle what was postponed."""
        if self._later and not self._is_busy() and not self.transport.is_closing():
            later, self._later = self._later, b""
            self._handle(later)
            if not self._later and not self._refused:
                self._flow.let_go()

    def _handle(self, data: bytes) -> None:
        if not self._is_whole or not self._begin_short(data):
            self._feed(data)

    def _feed(self, data: bytes) -> None:
        """Pass data to the parser, whose callbacks make ASGI requests of it: up to the end of a
        request, and not for longer than others can wait."""
        self._unset_keepalive_if_required()
        fed = 0
        while fed < len(data) and not self._refused and not self._is_busy():
            if fed >= TURN_BYTES:
                self.loop.call_soon(self._go_on)
                break
            piece = self._take_piece(data, fed)
            fed += len(piece)
            self._parse(piece)
        if self._refused:
            return
        if fed < len(data):
            self._postpone(data[fed:])
        if not self._is_whole:
            self._time_the_rest()

    def _take_piece(self, data: bytes, start: int) -> bytes:
        """The next piece of a request, or the blank lines before it."""
        blank = _BLANK_LINES.match(data, start) if self._is_whole else None
        return blank[0] if blank else self._pieces.take(data, start)

    def _parse(self, piece: bytes) -> None:
        if self._unread is not None:
            self._drop(piece)
        self._between += len(piece)
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            pass  # of trailers: a head that asks for it is refused
        except httptools.HttpParserError:
            self._refuse(self._refusal)
            return
        if self._is_whole and self._had_trailers:
            # The parser also acts on what they say about the connection.
            self.parser, self._had_trailers = httptools.HttpRequestParser(self), False
        if self._between > HEAD_BYTES:
            self._refuse(HEAD_TOO_LARGE)

    def _time_the_rest(self) -> None:
        """Limit the time for what is still to come of a request."""
        self._start_timer(self.limits.head_seconds)
        if not self._in_head and not self._in_body:
            # Most requests are complete by now and need no second timer.
            self._in_body = True
            self.cycle.transport = cast("asyncio.Transport", _DelayedClose(self))
            if self._timer is not None:
                self._stop_timer()
                self._start_timer(self.limits.body_seconds)

    def on_message_begin(self) -> None:
        self._in_body = self._is_whole = False
        super().on_message_begin()
        if self._known is not None:
            set_known_call(cast("dict[str, object]", self.scope), self._known)
            self._known = None

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header. Trailers are dropped: nobody asks for them, and they would pass for headers
        that a proxy has written."""
        if not self._in_head:
            self._had_trailers = True
            return
        if len(self.headers) == MOST_HEADERS:
            self._end_parsing(HEAD_TOO_LARGE)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        parser = self.parser
        refusal = why_refused(
            parser.get_http_version(),
            parser.get_method(),
            self.url,
            self.headers,
            upgrades=parser.should_upgrade(),
        )
        if refusal is not None:
            self._end_parsing(refusal)
        super().on_headers_complete()
        self._in_head, self._body_bytes, self._between = False, 0, 0
        length = next((value for name, value in self.headers if name == b"content-length"), b"0")
        self._pieces.expect(int(length))

    def _end_parsing(self, refusal: RefusedRequest) -> NoReturn:
        """Leave a callback of the parser, which takes no more data after that."""
        self._refusal = refusal
        raise RequestRefused

    def on_body(self, body: bytes) -> None:
        self._between = 0
        self._body_bytes += len(body)
        if self._body_bytes > SMALL_BODY_BYTES and self._unread is None:
            # The reader of the body limits the time of each piece.
            self._stop_timer()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_whole = self._in_head = True
        self._between, self._unread = 0, None
        self._stop_timer()
        super().on_message_complete()
        if self._close_after:
            self.transport.close()

    def on_response_complete(self) -> None:
        if not self._is_whole and self.cycle.response_complete:
            self.discard_rest_of_body()
        self._stop_keep_alive()
        super().on_response_complete()
        self._go_on()

    # The short path of workers' calls that arrive complete in one piece: without a task and without
    # ASGI messages.

    def _begin_short(self, data: bytes) -> bool:
        """Handle data as one call of a worker. Returns False if uvicorn's parser has to handle
        it."""
        # Answers that nobody reads would pile up here; ASGI messages wait for their reader.
        if self.short is None or self._shutting_down or self.flow.write_paused:
            return False
        request = parse_whole_request(data)
        peer = self.client[0] if self.client else ""
        call = request and self.short.begin(request, peer, self.scheme or "http")
        if not isinstance(call, ShortCall):
            self._known = call
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
            self._known = call.known
            self._feed(data)
        elif isinstance(body, Reply):
            self._write_short(call.request_id, body.body, self._reply_head(body))
        else:
            self._write_short(call.request_id, body, self._response_head())
        self._go_on()

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

    def _refuse(self, refusal: RefusedRequest) -> None:
        """Answer a request that can't be read, as the last one of this connection. What follows is
        read and dropped: closing with unread data could lose the answer."""
        self._refused, self._later = True, b""
        self.log.warning(refusal.event, client=self._peer(), why=refusal.text)
        if not self._in_head and self.cycle.response_started:
            # A second answer would pass for that to the next request.
            self.transport.close()
            return
        if not self._in_head:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write(encode_refusal(refusal, self.server_state.default_headers))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._flow.let_go()
        self._stop_timer()
        self._timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _drop(self, data: bytes) -> None:
        """Count data that is read to be dropped. After too much of it nothing more is read, until a
        timer closes the connection: its client can still read the answer."""
        self._unread = (self._unread or 0) + len(data)
        if self._unread > UNREAD_BYTES:
            self._flow.hold()

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
