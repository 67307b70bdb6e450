"""One WebSocket: the connection on one side, the application's receive and send on the other."""

import asyncio
import enum
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from rookery_asgi._core import ClientDisconnected, Connection
from rookery_asgi.accesslog import Entry
from rookery_asgi.types import App, Header, Message, Scope
from rookery_asgi.ws import handshake, messages
from rookery_asgi.ws.deflate import Deflate, negotiate
from rookery_asgi.ws.messages import Binary, Closing, Event, Fault, Ping, Pong, Reader, Text

log = logging.getLogger("rookery_asgi")

CLOSE_SECONDS = 10.0
MESSAGE_BYTES = 300
"""What a queued message takes beside its payload."""
PIECE = 8192
"""Bytes that are read at once: 128 KB may hold twenty thousand empty messages."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What WebSockets may use."""

    most: int = 16 * 1024 * 1024
    deflate: bool = True
    queued: int = 64 * 1024
    ping_interval: float = 20.0
    ping_timeout: float = 20.0


class State(enum.Enum):
    """A session's life.

    CONNECTING -> OPEN -> CLOSING -> CLOSED, or CONNECTING -> DENYING -> CLOSED.
    """

    CONNECTING = enum.auto()
    DENYING = enum.auto()
    OPEN = enum.auto()
    CLOSING = enum.auto()
    CLOSED = enum.auto()


def target_of(scope: Scope) -> bytes:
    """What the client asked for."""
    query: bytes = scope["query_string"]
    path: bytes = scope["raw_path"]
    return path + b"?" + query if query else path


class Waiters:
    """Tasks that wait for the same change. One that gives up leaves nothing behind."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._futures: list[asyncio.Future[None]] = []

    async def wait(self) -> None:
        """Return after the next wake()."""
        future = asyncio.get_running_loop().create_future()
        self._futures.append(future)
        try:
            await future
        finally:
            self._futures.remove(future)

    def wake(self) -> None:
        """Let all of them look again."""
        for future in self._futures:
            if not future.done():
                future.set_result(None)


class Session:
    """The core calls data, eof, lost and drained; the application calls receive and send."""

    def __init__(
        self,
        conn: Connection,
        scope: Scope,
        offer: handshake.Offer,
        limits: Limits,
        now: Callable[[], float],
        log: Callable[[Entry], object] | None = None,
    ) -> None:
        """Nothing is answered before the application has decided. `log` is told of its end."""
        self.state = State.CONNECTING
        self.task: asyncio.Task[None] | None = None
        self._conn = conn
        self._scope = scope
        self._offer = offer
        self._limits = limits
        self._now = now
        self._unread: deque[memoryview] = deque()
        self._inbox: deque[Message] = deque([{"type": "websocket.connect"}])
        self._queued = 0
        self._told_disconnect = False
        self._receivers = Waiters()
        self._writers = Waiters()
        self._full = False
        self._pong: bytes | None = None
        self._log = log
        self._line = (
            *(scope["client"], "GET", target_of(scope)),
            *(scope["http_version"], scope["headers"]),
        )
        self._began = now()
        self._status = 0
        self._sent = 0
        self._reader: Reader | None = None
        self._deflate: Deflate | None = None
        self._deadline = now() + limits.ping_interval
        self._pinged = False
        self._denial: tuple[int, list[Header]] | None = None
        self._denial_body: list[bytes] = []

    # --- what the core says

    def data(self, data: bytes) -> None:
        """Bytes from the client."""
        reader = self._reader
        if reader is not None and len(data) <= PIECE and not self._unread:
            self._hear(reader, data)
            return
        self._unread.append(memoryview(data))
        if reader is not None:
            self._read_on(reader)
            return
        self._queued += len(data) + MESSAGE_BYTES
        if self._queued > self._limits.queued:
            self._conn.hold(True)

    def eof(self) -> None:
        """The client closed its side without a close frame."""
        self._conn.abort()

    def lost(self) -> None:
        """The connection is gone."""
        if self.state is not State.CLOSED:
            self._disconnected(messages.ABNORMAL, "")
        self.state = State.CLOSED
        self.drained()
        if self._log is not None:
            self._log((self._line, self._status, self._sent, self._now() - self._began))

    def drained(self) -> None:
        """The client has taken what was written."""
        self._full = False
        pong, self._pong = self._pong, None
        if pong is not None and self.state is State.OPEN:
            self._answer_ping(pong)
        self._writers.wake()

    # --- what the client says

    def _read_on(self, reader: Reader) -> None:
        """Take what has come, up to what may be queued; the rest waits unread."""
        while self._unread and self.state is not State.CLOSED and not self._is_full():
            data = self._unread.popleft()
            if len(data) > PIECE:
                self._unread.appendleft(data[PIECE:])
            self._hear(reader, data[:PIECE])

    def _hear(self, reader: Reader, data: bytes | memoryview) -> None:
        for event in reader.feed(data):
            if self.state is not State.CLOSED:
                self._take(event)

    def _is_full(self) -> bool:
        return self.state is State.OPEN and self._queued > self._limits.queued

    def _take(self, event: Event) -> None:
        match event:
            case Text(text):
                self._deliver({"type": "websocket.receive", "text": text}, len(text))
            case Binary(data):
                self._deliver({"type": "websocket.receive", "bytes": data}, len(data))
            case Ping(data):
                if self.state is State.OPEN:
                    self._answer_ping(data)
            case Pong():
                self._pinged = False
                self._deadline = self._now() + self._limits.ping_interval
            case Closing(code, reason):
                self._peer_closes(code, reason)
            case Fault(code, reason):
                self._fail(code, reason)

    def _answer_ping(self, data: bytes) -> None:
        """Of a client that does not read, the last ping alone is answered (RFC 6455, 5.5.3)."""
        if self._full:
            self._pong = data
        else:
            self._full = not self._conn.write(messages.write_control(messages.PONG, data))

    def _deliver(self, message: Message, size: int) -> None:
        if self.state is not State.OPEN:
            return
        self._inbox.append(message)
        self._queued += size + MESSAGE_BYTES
        if self._is_full():
            self._conn.hold(True)
        self._receivers.wake()

    def _peer_closes(self, code: int, reason: str) -> None:
        if self.state is State.OPEN:
            self._conn.write(messages.write_close(code, ""))
            self._disconnected(code, reason)
        self.state = State.CLOSED
        self._conn.close()

    def _fail(self, code: int, reason: str) -> None:
        if self.state is State.OPEN:
            self._conn.write(messages.write_close(code, reason))
            self._disconnected(code, reason)
        self.state = State.CLOSED
        self._conn.close()

    def _disconnected(self, code: int, reason: str) -> None:
        self._inbox.append({"type": "websocket.disconnect", "code": code, "reason": reason})
        self._receivers.wake()

    # --- what the application asks

    async def receive(self) -> Message:
        """The next event; after the last one always the disconnect."""
        while not self._inbox:
            if self._told_disconnect:
                return {"type": "websocket.disconnect", "code": messages.ABNORMAL, "reason": ""}
            await self._receivers.wait()
        message = self._inbox.popleft()
        self._account(message)
        return message

    def _account(self, message: Message) -> None:
        if message["type"] == "websocket.disconnect":
            self._told_disconnect = True
        elif message["type"] == "websocket.receive":
            self._queued -= len(message.get("text") or message.get("bytes") or b"") + MESSAGE_BYTES
            if self._queued <= self._limits.queued // 2:
                self._go_on_reading()

    def _go_on_reading(self) -> None:
        if self._reader is not None:
            self._read_on(self._reader)
        if not self._is_full():
            self._conn.hold(False)

    async def send(self, message: Message) -> None:
        """What the application wants the client to get."""
        kind = message["type"]
        if self.state is State.CONNECTING:
            self._decide(kind, message)
        elif self.state is State.DENYING and kind == "websocket.http.response.body":
            self._deny(message)
        elif self.state is State.OPEN and kind == "websocket.send":
            await self._send_message(message)
        elif self.state is State.OPEN and kind == "websocket.close":
            self._start_close(message.get("code") or messages.NORMAL, message.get("reason") or "")
        elif self.state is State.CLOSED or self._told_disconnect:
            raise ClientDisconnected("the WebSocket is closed")
        else:
            raise RuntimeError(f"{kind!r} can't be sent while the WebSocket is {self.state.name}")

    def _decide(self, kind: str, message: Message) -> None:
        match kind:
            case "websocket.accept":
                self._accept(message)
            case "websocket.close":
                self.refuse(403)
            case "websocket.http.response.start":
                self.state = State.DENYING
                self._denial = (message["status"], list(message.get("headers", ())))
            case _:
                raise RuntimeError(f"{kind!r} can't be sent before websocket.accept")

    def _accept(self, message: Message) -> None:
        subprotocol = message.get("subprotocol")
        if subprotocol is not None and subprotocol not in self._offer.subprotocols:
            raise RuntimeError("the accepted subprotocol was not among the offered ones")
        terms = negotiate(self._offer.extensions) if self._limits.deflate else None
        extension = terms.header() if terms else None
        headers = [(bytes(n), bytes(v)) for n, v in message.get("headers") or ()]
        response = handshake.render_accept(
            self._offer, subprotocol, extension, headers, self._conn.own_fields
        )
        self._deflate = Deflate(terms) if terms else None
        self._reader = Reader(most=self._limits.most, deflate=self._deflate)
        self.state, self._status = State.OPEN, 101
        self._deadline = self._now() + self._limits.ping_interval
        self._conn.write(response)
        self._queued = 0
        self._go_on_reading()

    async def _send_message(self, message: Message) -> None:
        text = message.get("text")
        opcode = messages.TEXT if text is not None else messages.BINARY
        data = text.encode() if text is not None else bytes(message["bytes"])
        head, payload = messages.write_message(opcode, data, self._deflate)
        self._sent += len(data)
        if not self._conn.write(head, payload):
            self._full = True
        while self._full:
            await self._writers.wait()
        if self.state is State.CLOSED:
            raise ClientDisconnected("the WebSocket is closed")

    def _start_close(self, code: int, reason: str) -> None:
        self.state = State.CLOSING
        self._deadline = self._now() + CLOSE_SECONDS
        self._conn.write(messages.write_close(code, reason))
        self._disconnected(code, reason)
        self._go_on_reading()

    def _deny(self, message: Message) -> None:
        self._denial_body.append(bytes(message.get("body", b"")))
        if message.get("more_body"):
            return
        status, headers = self._denial or (403, [])
        self.refuse(status, headers, b"".join(self._denial_body))

    def refuse(
        self, status: int, headers: list[Header] | None = None, body: bytes | None = None
    ) -> None:
        """Answer the handshake with an ordinary response."""
        own = self._conn.own_fields
        response = handshake.render_refusal(status, headers or (), body, own)
        self.state, self._status = State.CLOSED, status
        self._sent = len(body or b"")
        self._conn.write(response)
        self._disconnected(messages.ABNORMAL, "")
        self._conn.close()

    # --- life

    async def run(self, app: App) -> None:
        """Run the application and close what it leaves open."""
        try:
            await app(self._scope, self.receive, self.send)
        except ClientDisconnected:
            self._end(messages.NORMAL)
        except Exception as error:
            log.error("the application raised", exc_info=error)
            self._end(messages.INTERNAL)
        except asyncio.CancelledError:
            self._end(messages.RESTART)
            raise
        else:
            if self.state in (State.CONNECTING, State.DENYING):
                log.error("the application neither accepted nor refused the WebSocket")
            self._end(messages.NORMAL)

    def _end(self, code: int) -> None:
        if self.state in (State.CONNECTING, State.DENYING):
            self.refuse(500)
        elif self.state is State.OPEN:
            self._start_close(code, "")

    def go_away(self) -> None:
        """The server stops: say so, and let the application see the end."""
        if self.state is State.OPEN:
            self._start_close(messages.RESTART, "")
        elif self.state is State.CONNECTING:
            self.refuse(503)

    def tick(self, now: float) -> None:
        """Ping a silent client; give up one that does not answer or does not close."""
        if now < self._deadline:
            return
        if self.state is State.CLOSING:
            self._conn.abort()
        elif self.state is State.OPEN and self._limits.ping_interval > 0:
            self._ping(now)

    def _ping(self, now: float) -> None:
        if not self._pinged:
            self._conn.write(messages.write_control(messages.PING, b""))
            self._pinged = self._limits.ping_timeout > 0
            self._deadline = now + (self._limits.ping_timeout or self._limits.ping_interval)
        elif self._is_full():
            # the pong may be waiting behind messages that the application does not take
            self._deadline = now + self._limits.ping_timeout
        else:
            self._fail(messages.INTERNAL, "no pong came")
