"""The poll thread: Mongoose's events become ASGI messages, and wakeups become bytes.

Everything in `Poll` but `order` and `wakeups.send` runs on that one thread. Events of a connection
come in this order: ACCEPT, then for each request HTTP_HDRS (on every read until its body is whole),
HTTP_MSG and READ, and at last CLOSE. Mongoose parses no further request before the response to this
one has ended, so the request at hand is always the first thing in the receive buffer.
"""

import asyncio
import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import cymongoose as mg

from rookery_asgi.mongoose import wakeups
from rookery_asgi.mongoose.head import Head, Refused, read_head
from rookery_asgi.mongoose.limits import SWEEP_SECONDS, Limits, cut
from rookery_asgi.mongoose.line import tell_gone, weight
from rookery_asgi.mongoose.responses import format_refusal, write_response
from rookery_asgi.mongoose.state import Peer, Phase, _ConnState
from rookery_asgi.mongoose.wakeups import Wakeups
from rookery_asgi.mongoose.websocket import close_payload, read_close
from rookery_asgi.options import Options
from rookery_asgi.types import Message, Scope
from rookery_asgi.ws.handshake import Refusal, read_offer

log = logging.getLogger("rookery_asgi")

POLL_MILLISECONDS = 100
# Mongoose ends a connection whose receive buffer holds 3 MiB, and reads 16 KiB at a time.
MESSAGE_MOST = 3 * 1024 * 1024 - 32 * 1024
HEAD_GUESS = 4096
WAITING_MOST = 4 * 1024 * 1024
"""Bytes of WebSocket messages that may wait for the application: Mongoose can't stop reading."""
CLOSE_FRAME = 8
BAD_DATA, REFUSED_MESSAGE, TOO_BIG, RESTART = 1007, 1008, 1009, 1012
Begin = Callable[[mg.Connection, Head, str], _ConnState]
Launch = Callable[[int, _ConnState], None]


class Poll:
    """Owns the manager and all connections."""

    def __init__(
        self, options: Options, loop: asyncio.AbstractEventLoop, begin: Begin, launch: Launch
    ) -> None:
        """`begin` makes a state with its scope; `launch` starts the application's coroutine."""
        self._options = options
        self.loop = loop
        self._begin = begin
        self._launch = launch
        self._manager = mg.Manager(enable_wakeup=True, error_handler=self._raised)
        self.wakeups = Wakeups(self._manager.wakeup)
        self._conns: dict[int, _ConnState] = {}
        self._peers: dict[int, Peer] = {}
        self._orders: deque[Callable[[], None]] = deque()
        self._limits = Limits(options, self._refuse)
        self._listeners: list[mg.Connection] = []
        self._stopping = False
        self._done = False
        self._thread = threading.Thread(target=self._run, name="mongoose", daemon=True)
        self._events: dict[int, Callable[[mg.Connection, Any], None]] = {
            mg.MG_EV_ACCEPT: self._on_accept,
            mg.MG_EV_HTTP_HDRS: self._on_headers,
            mg.MG_EV_HTTP_MSG: self._on_message,
            mg.MG_EV_READ: self._on_read,
            mg.MG_EV_WRITE: self._on_write,
            mg.MG_EV_WAKEUP: self._on_wakeup,
            mg.MG_EV_WS_MSG: self._on_ws_message,
            mg.MG_EV_WS_CTL: self._on_ws_control,
            mg.MG_EV_CLOSE: self._on_close,
        }
        self._wakes: dict[bytes, Callable[[mg.Connection, _ConnState, bytes], None]] = {
            wakeups.RESPONSE: self._handle_response,
            wakeups.WS_SEND: self._handle_ws_send,
            wakeups.WS_CLOSE: self._handle_ws_close,
            wakeups.STREAM_HEAD: self._handle_stream_header,
            wakeups.STREAM_CHUNK: self._handle_stream_chunk,
            wakeups.STREAM_END: self._handle_stream_end,
        }

    # what the asyncio thread calls

    def listen(self, url: str) -> tuple[str, int]:
        """Bind; the address that was bound."""
        mg.log_set(mg.MG_LL_NONE)
        listener = self._manager.listen(url, handler=self._on_event)
        self._listeners.append(listener)
        address = listener.local_addr
        assert address is not None
        return address[0], address[1]

    def begin(self) -> None:
        """Begin to poll."""
        self._thread.start()

    def order(self, what: Callable[[], None]) -> None:
        """Have something done on the poll thread."""
        self._orders.append(what)
        self._manager.wakeup(self._manager.wakeup_id, b"")

    def stop_accepting(self) -> None:
        """Close the listener and what is idle; ask WebSockets to end."""
        self.order(self._stop)

    def disconnect(self) -> None:
        """Tell every running request that it has no client any more; on the poll thread."""
        for peer in list(self._peers.values()):
            cut(peer.conn)

    def is_quiet(self) -> bool:
        """Whether every connection has closed."""
        return not self._peers

    def end(self) -> None:
        """Stop polling and close what is left."""
        if self._thread.is_alive():
            self.order(self._finish)
            self._thread.join()
        self.wakeups.close()
        self._manager.close()

    # the thread

    def _run(self) -> None:
        swept = time.monotonic()
        while not self._done:
            self._manager.poll(POLL_MILLISECONDS)
            while self._orders:
                self._do(self._orders.popleft())
            now = time.monotonic()
            if now - swept > SWEEP_SECONDS:
                swept = now
                for peer in list(self._peers.values()):
                    self._do(partial(self._limits.check, peer, now))

    def _do(self, what: Callable[[], None]) -> None:
        # without its thread the server would be there and deaf
        try:
            what()
        except Exception as error:  # noqa: BLE001 - whatever it is
            self._raised(error)

    def _stop(self) -> None:
        self._stopping = True
        for listener in self._listeners:
            cut(listener)
        for conn_id, peer in list(self._peers.items()):
            state = self._conns.get(conn_id)
            if peer.phase in (Phase.IDLE, Phase.HEAD):
                peer.conn.drain()
            elif state is not None and state.is_websocket:
                self._close_websocket(peer, RESTART, "the server stops")

    def _finish(self) -> None:
        self._done = True

    def _raised(self, error: Exception) -> None:
        log.error("an event could not be handled", exc_info=error)

    def _on_event(self, conn: mg.Connection, event: int, data: Any) -> None:
        handle = self._events.get(event)
        if handle is not None:
            handle(conn, data)

    def _tell(self, state: _ConnState, message: Message) -> None:
        self.loop.call_soon_threadsafe(state.receive_queue.put_nowait, message)

    # HTTP events

    def _on_accept(self, conn: mg.Connection, data: None) -> None:
        now = time.monotonic()
        self._peers[conn.id] = Peer(conn, now, wrote=now)
        self.wakeups.opened(conn.id)

    def _on_headers(self, conn: mg.Connection, message: mg.HttpMessage) -> None:
        peer = self._peers[conn.id]
        # at its end Mongoose hands out what has come so far as if it were a whole request
        if conn.is_closing or peer.phase not in (Phase.IDLE, Phase.HEAD):
            return
        try:
            peer.head = self._read_head(conn)
            self._check_body(conn, peer.head)
        except Refused as refused:
            self._refuse(peer, refused.status)
            return
        peer.received = conn.recv_len
        peer.enter(Phase.BODY, time.monotonic())

    def _read_head(self, conn: mg.Connection) -> Head:
        raw = conn.recv_data(HEAD_GUESS)
        if b"\r\n\r\n" not in raw:
            raw = conn.recv_data()
        options = self._options
        return read_head(raw, line_most=options.limit_request_line, head_most=options.limit_head)

    def _check_body(self, conn: mg.Connection, head: Head) -> None:
        length = head.length or 0
        if head.size + length > MESSAGE_MOST or 0 < self._options.limit_body < length:
            raise Refused(413)
        waits = head.chunked or length > conn.recv_len - head.size
        if waits and head.version == "1.1" and head.names(b"expect", b"100-continue"):
            conn.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _on_message(self, conn: mg.Connection, message: mg.HttpMessage) -> None:
        peer = self._peers[conn.id]
        if conn.is_closing or peer.phase is not Phase.BODY or peer.head is None:
            return
        body = message.body_bytes
        if 0 < self._options.limit_body < len(body):
            self._refuse(peer, 413)
            conn.drain()
            return
        peer.fresh = False
        peer.enter(Phase.BUSY, time.monotonic())
        if self._options.ws and wants_websocket(peer.head):
            self._upgrade(conn, peer, message)
        elif conn.send_len > self._options.high_water:
            peer.held = lambda: self._begin_http(conn, peer, body)
        else:
            self._begin_http(conn, peer, body)

    def _begin_http(self, conn: mg.Connection, peer: Peer, body: bytes) -> None:
        assert peer.head is not None
        state = self._conns[conn.id] = self._begin(conn, peer.head, "http")
        state.keep_alive = peer.head.keep_alive
        self._tell(state, {"type": "http.request", "body": body, "more_body": False})
        self._launch(conn.id, state)

    def _on_read(self, conn: mg.Connection, data: None) -> None:
        peer = self._peers[conn.id]
        waits = peer.phase in (Phase.IDLE, Phase.HEAD)
        if peer.phase is Phase.OPEN:
            peer.since, peer.pinged = time.monotonic(), None
        elif waits and conn.is_draining:
            # Mongoose could not parse what came, and has thrown it away
            self._refuse(peer, 400)
        elif peer.phase is Phase.BODY and conn.recv_len > MESSAGE_MOST:
            self._refuse(peer, 413)
        elif waits and 0 < self._options.limit_head < conn.recv_len:
            self._refuse(peer, 431)
        elif peer.phase is Phase.IDLE:
            peer.enter(Phase.HEAD, time.monotonic())

    def _refuse(self, peer: Peer, status: int) -> None:
        options = self._options
        text = format_refusal(status, date=options.date_header, server=options.server_header)
        peer.conn.send(text)
        # what the client still sends is read for a moment: closing at once could undo the answer
        if peer.head is None or peer.conn.recv_len <= peer.head.size:
            peer.conn.drain()
        peer.enter(Phase.DOOMED, time.monotonic())

    def _on_write(self, conn: mg.Connection, data: None) -> None:
        peer, state = self._peers.get(conn.id), self._conns.get(conn.id)
        if peer is None:
            return
        peer.wrote = time.monotonic()
        if conn.send_len > self._options.high_water // 4:
            return
        if peer.held is not None:
            begin, peer.held = peer.held, None
            begin()
        while state is not None and state.owed:
            state.owed -= 1
            self._release(state)

    def _on_close(self, conn: mg.Connection, data: None) -> None:
        if self._peers.pop(conn.id, None) is None:
            return
        self.wakeups.closed(conn.id)
        state = self._conns.pop(conn.id, None)
        if state is not None:
            state.gone = True
            message: Message = {"type": "http.disconnect"}
            if state.is_websocket:
                code, reason = state.left_with
                message = {"type": "websocket.disconnect", "code": code, "reason": reason}
            self.loop.call_soon_threadsafe(tell_gone, state, message)

    # WebSocket events

    def _upgrade(self, conn: mg.Connection, peer: Peer, message: mg.HttpMessage) -> None:
        """Upgrade at once: the message is gone when this returns."""
        assert peer.head is not None
        offer = read_offer(peer.head.headers)
        if isinstance(offer, Refusal) or len(offer.subprotocols) > 1:
            # of several subprotocols Mongoose would answer with all, which no client takes
            self._refuse(peer, offer.status if isinstance(offer, Refusal) else 400)
            return
        conn.ws_upgrade(message)
        state = self._conns[conn.id] = self._begin(conn, peer.head, "websocket")
        state.scope["subprotocols"] = list(offer.subprotocols)
        peer.enter(Phase.OPEN, time.monotonic())
        self._tell(state, {"type": "websocket.connect"})
        self._launch(conn.id, state)

    def _on_ws_message(self, conn: mg.Connection, frame: mg.WsMessage) -> None:
        peer, state = self._peers[conn.id], self._conns.get(conn.id)
        if state is None or peer.phase is not Phase.OPEN:
            return
        data = frame.data
        message: Message = {"type": "websocket.receive"}
        if len(data) > self._options.ws_max_size:
            self._close_websocket(peer, TOO_BIG, "message too big")
            return
        try:
            if frame.flags & 15 == mg.WEBSOCKET_OP_TEXT:
                message["text"] = data.decode()
            else:
                message["bytes"] = data
        except UnicodeDecodeError:
            self._close_websocket(peer, BAD_DATA, "invalid UTF-8")
            return
        self._give(peer, state, message)

    def _give(self, peer: Peer, state: _ConnState, message: Message) -> None:
        state.given_bytes += weight(message)
        if state.given_bytes - state.taken_bytes > WAITING_MOST:
            self._close_websocket(peer, REFUSED_MESSAGE, "too many messages wait")
        else:
            self._tell(state, message)

    def _on_ws_control(self, conn: mg.Connection, data: None) -> None:
        state = self._conns.get(conn.id)
        closing = read_close(conn.recv_data(140))
        if state is not None and closing is not None:
            state.left_with = closing
        # Mongoose answers each ping, whether or not anybody reads the answers
        if conn.send_len > 16 * self._options.high_water:
            cut(conn)

    def _close_websocket(self, peer: Peer, code: int, reason: str) -> None:
        peer.conn.ws_send(close_payload(code, reason), CLOSE_FRAME)
        peer.enter(Phase.DOOMED, time.monotonic())

    # wakeups

    def _on_wakeup(self, conn: mg.Connection, data: bytes) -> None:
        kind, payload = self.wakeups.take(conn.id, data)
        state = self._conns.get(conn.id)
        if state is not None:
            self._wakes[kind](conn, state, payload)

    def _handle_response(self, conn: mg.Connection, state: _ConnState, payload: bytes) -> None:
        fields = json.loads(payload)
        headers = [(name.encode(), value.encode("latin-1")) for name, value in fields["headers"]]
        write_response(conn, state, fields["status"], headers, fields["body"].encode("latin-1"))
        self._end_request(conn, state)

    def _handle_stream_header(self, conn: mg.Connection, state: _ConnState, head: bytes) -> None:
        conn.send(head)
        self._give_back(conn, state)

    def _handle_stream_chunk(self, conn: mg.Connection, state: _ConnState, data: bytes) -> None:
        if state.chunked:
            conn.http_chunk(data)
        else:
            conn.send(data)
        self._give_back(conn, state)

    def _handle_stream_end(self, conn: mg.Connection, state: _ConnState, nothing: bytes) -> None:
        if state.cut:
            cut(conn)
            return
        if state.chunked:
            conn.http_chunk(b"")
        self._end_request(conn, state)

    def _handle_ws_send(self, conn: mg.Connection, state: _ConnState, payload: bytes) -> None:
        fields = json.loads(payload)
        text = fields.get("text")
        if self._peers[conn.id].phase is not Phase.OPEN:
            pass  # a close frame is the last one
        elif text is not None:
            conn.ws_send(text, mg.WEBSOCKET_OP_TEXT)
        else:
            conn.ws_send(fields["bytes"].encode("latin-1"), mg.WEBSOCKET_OP_BINARY)
        self._give_back(conn, state)

    def _handle_ws_close(self, conn: mg.Connection, state: _ConnState, nothing: bytes) -> None:
        peer = self._peers[conn.id]
        if peer.phase is Phase.OPEN:
            self._close_websocket(peer, *state.close_with)

    def _give_back(self, conn: mg.Connection, state: _ConnState) -> None:
        """Release the permit; while the client does not read, only when it has read."""
        if conn.send_len > self._options.high_water:
            state.owed += 1
        else:
            self._release(state)

    def _release(self, state: _ConnState) -> None:
        assert state.stream_sem is not None
        self.loop.call_soon_threadsafe(state.stream_sem.release)

    def _end_request(self, conn: mg.Connection, state: _ConnState) -> None:
        del self._conns[conn.id]
        peer = self._peers[conn.id]
        peer.head = None
        if state.keep_alive and not self._stopping:
            peer.enter(Phase.HEAD if conn.recv_len else Phase.IDLE, time.monotonic())
        else:
            conn.drain()
            peer.enter(Phase.BUSY, time.monotonic())


def wants_websocket(head: Head) -> bool:
    """Whether the request asks for an upgrade to WebSocket."""
    upgrade = head.names(b"upgrade", b"websocket") and head.names(b"connection", b"upgrade")
    return head.method == "GET" and head.version == "1.1" and upgrade


def scope_fields(conn: mg.Connection) -> Scope:
    """Client and server of a scope."""
    remote, local = conn.remote_addr, conn.local_addr
    return {"client": remote and tuple(remote[:2]), "server": local and tuple(local[:2])}
