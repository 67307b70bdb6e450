"""A server without sockets: bytes in, bytes out, applications written in the test."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from rookery_asgi import _core
from rookery_asgi.loops import new_loop
from rookery_asgi.types import App, Message, Receive, Scope, Send

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


class Hooks:
    """Collects what the core reports."""

    forwarded = None
    refused: Any = None
    accepted = None

    def __init__(self) -> None:
        self.failures: list[BaseException] = []

    def failed(self, error: BaseException) -> None:
        self.failures.append(error)

    def websocket(self, conn: _core.Connection, scope: Scope) -> object:
        raise NotImplementedError


class Machine:
    """A core with connections that have no sockets."""

    def __init__(self, app: App, **options: Any) -> None:
        self.hooks: Any = options.pop("hooks", None) or Hooks()
        self.access: list[Any] = []
        self.core = _core.Core(
            app,
            asyncio.get_running_loop(),
            self.hooks,
            options.pop("state", {}),
            self.access,
            options.pop("root_path", ""),
            **options,
        )
        self.conn = self.core.connection(("10.0.0.1", 5000), ("10.0.0.2", 80))

    async def feed(self, data: bytes, *, step: int = 0) -> None:
        """Bytes arrive, in one piece or `step` at a time."""
        size = step or max(1, len(data))
        for at in range(0, len(data), size):
            self.conn.feed(data[at : at + size])
            await settle()

    async def ask(self, data: bytes, *, step: int = 0) -> bytes:
        """What the server answers."""
        await self.feed(data, step=step)
        return self.conn.take()


async def settle() -> None:
    """Let everything run that can run."""
    for _ in range(6):
        await asyncio.sleep(0)


def play(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test's story in a loop of the server's own kind."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(story())


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers every request with a short text."""
    await answer(send, b"hello")


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the request's body."""
    await answer(send, await read_body(receive))


async def answer(send: Send, body: bytes = b"", status: int = 200, headers: Any = ()) -> None:
    """A whole response."""
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})


async def read_body(receive: Receive) -> bytes:
    """The request's body; fails when the client left."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        assert message["type"] == "http.request", message
        parts.append(message["body"])
        if not message["more_body"]:
            return b"".join(parts)


class Recorder:
    """An application that notes its scopes and hands the rest to another one."""

    def __init__(self, app: App = hello) -> None:
        self.scopes: list[Scope] = []
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        await self._app(scope, receive, send)


def status_of(response: bytes) -> int:
    """The status of the first response in the bytes; 0 when there is none."""
    return int(response[9:12]) if response.startswith(b"HTTP/1.1 ") else 0


def body_of(response: bytes) -> bytes:
    """What follows the head."""
    return response.partition(b"\r\n\r\n")[2]


async def collect(receive: Callable[[], Awaitable[Message]], count: int) -> list[Message]:
    """That many messages."""
    return [await receive() for _ in range(count)]
