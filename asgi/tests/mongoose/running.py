"""Runs the adapter in this process, so that a test can look into it, on real sockets."""

import asyncio
import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

from rookery_asgi.mongoose.poll import Poll
from rookery_asgi.mongoose.server import Server
from rookery_asgi.mongoose.state import _ConnState
from rookery_asgi.options import Options
from rookery_asgi.types import App, Message, Receive, Scope, Send
from tests.serving import LIMIT_SECONDS, exchange, get

KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
UPGRADE = (
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    KEY,
)


class Running:
    """A server, its loop, and what it says to its poll thread."""

    def __init__(self, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        self.server = server
        self.loop = loop
        assert server._poll is not None
        self.poll: Poll = server._poll
        self.posted: list[bytes] = []
        wakeups = self.poll.wakeups
        post = wakeups._post

        def note(conn_id: int, data: bytes) -> object:
            self.posted.append(data)
            return post(conn_id, data)

        wakeups._post = note

    @property
    def kinds(self) -> str:
        """The types of all wakeups so far."""
        return b"".join(data[:1] for data in self.posted).decode()

    @property
    def state(self) -> _ConnState:
        """The state of the only active connection."""
        (state,) = self.poll._conns.values()
        return state

    def connect(self) -> socket.socket:
        return socket.create_connection(self.server.addresses[0], timeout=LIMIT_SECONDS)

    def ask(self, path: str = "/", *headers: str) -> bytes:
        with self.connect() as sock:
            return exchange(sock, get(path, "Connection: close", *headers))

    def upgraded(self, *headers: str) -> socket.socket:
        """A client after the opening handshake."""
        sock = self.connect()
        sock.sendall(get("/", *UPGRADE, *headers))
        assert read_until(sock, b"\r\n\r\n").startswith(b"HTTP/1.1 101 ")
        return sock


def read_until(sock: socket.socket, end: bytes) -> bytes:
    """Byte by byte, so that nothing that follows is taken."""
    data = b""
    while not data.endswith(end):
        part = sock.recv(1)
        assert part, data
        data += part
    return data


def frame(payload: bytes, opcode: int = 1) -> bytes:
    """A client's short frame; the mask is zero."""
    assert len(payload) < 126
    return bytes([0x80 | opcode, 0x80 | len(payload), 0, 0, 0, 0]) + payload


def read_frame(sock: socket.socket) -> tuple[int, bytes]:
    """Opcode and payload of a server's frame."""
    first, length = exactly(sock, 2)
    if length == 126:
        length = int.from_bytes(exactly(sock, 2))
    elif length == 127:
        length = int.from_bytes(exactly(sock, 8))
    return first & 15, exactly(sock, length)


def exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = sock.recv(count - len(data))
        assert part, data
        data += part
    return data


def chunks_of(body: bytes) -> list[bytes]:
    """The chunks of a chunked body, the empty last one among them."""
    found = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        found.append(rest[:length])
        assert rest[length : length + 2] == b"\r\n"
        body = rest[length + 2 :]
    return found


def header(response: bytes, name: str) -> list[str]:
    """All values of a header."""
    head = response.partition(b"\r\n\r\n")[0].decode("latin-1")
    return [value.strip() for value in re.findall(rf"(?im)^{name}:(.*)$", head)]


@contextlib.contextmanager
def running(app: App, **options: Any) -> Iterator[Running]:
    """A server whose loop runs in a thread; it has stopped when the block ends."""
    ready = threading.Event()
    found: list[Running] = []

    async def serve() -> None:
        server = Server(app, Options(port=0, access_log=False, **options))
        await server.start()
        found.append(Running(server, asyncio.get_running_loop()))
        ready.set()
        await server._stop.wait()
        await server.stop()

    def main() -> None:
        try:
            asyncio.run(serve())
        finally:
            ready.set()

    thread = threading.Thread(target=main, name="asyncio")
    thread.start()
    assert ready.wait(LIMIT_SECONDS)
    try:
        yield found[0]
    finally:
        if not found[0].server._stop.is_set():
            found[0].loop.call_soon_threadsafe(found[0].server.begin_stop)
        thread.join(LIMIT_SECONDS)


class Gate:
    """An application that does what a test says, when the test says it."""

    def __init__(self) -> None:
        self.scope: Scope = {}
        self.thread = 0
        self.entered = threading.Event()
        self.finished = threading.Event()
        self.sent = 0
        self._send: Send | None = None
        self._receive: Receive | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._leave: asyncio.Event | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        self._leave = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.scope, self._receive, self._send = scope, receive, send
        self.thread = threading.get_ident()
        self.entered.set()
        await self._leave.wait()
        self.finished.set()

    def send(self, message: Message) -> None:
        assert self.entered.wait(LIMIT_SECONDS)
        assert self._loop is not None
        assert self._send is not None
        send = self._send

        async def tell() -> None:
            await send(message)
            self.sent += 1

        asyncio.run_coroutine_threadsafe(tell(), self._loop).result(LIMIT_SECONDS)

    def begin(self, *messages: Message) -> None:
        """Send one after the other without waiting here."""
        assert self._loop is not None
        assert self._send is not None
        send = self._send

        async def tell() -> None:
            for message in messages:
                await send(message)
                self.sent += 1

        asyncio.run_coroutine_threadsafe(tell(), self._loop)

    def receive(self) -> Message:
        assert self.entered.wait(LIMIT_SECONDS)
        assert self._loop is not None
        assert self._receive is not None
        receive = self._receive

        async def hear() -> Message:
            return await receive()

        return asyncio.run_coroutine_threadsafe(hear(), self._loop).result(LIMIT_SECONDS)

    def leave(self) -> None:
        assert self._loop is not None
        assert self._leave is not None
        self._loop.call_soon_threadsafe(self._leave.set)
        assert self.finished.wait(LIMIT_SECONDS)


START: Message = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/plain")],
}


def body(data: bytes = b"", *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


@contextlib.contextmanager
def stalled(poll: Poll) -> Iterator[None]:
    """The poll thread does nothing while the block runs."""
    there, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        there.set()
        go_on.wait(LIMIT_SECONDS)

    poll.order(wait)
    assert there.wait(LIMIT_SECONDS)
    try:
        yield
    finally:
        go_on.set()
