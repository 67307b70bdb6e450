"""Connections to a server that may die, move or be cut off; a reply that is no JSON counts as
none."""

import asyncio
import json
import time
from typing import Any

Answer = dict[str, Any]
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]

ANSWER_SECONDS = 30.0
COMMITTED = ("/api/update_task", "/api/request_task")
HEAD = (
    "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: keep-alive\r\n"
    "content-type: application/json\r\nx-forwarded-for: {client}\r\n{token}"
    "content-length: {length}\r\n\r\n"
)


class NoReply(Exception):
    """The outcome of the call is unknown."""


class Connections:
    """Connections that many workers share, as through a proxy."""

    def __init__(self, most: int = 64, *, token: str = "", host: str = "127.0.0.1") -> None:
        self.host = host
        self.port = 0
        self.token = token
        self.calls = 0
        self.refused = 0
        self.written = 0.0
        """The start of the latest answered call that needed a commit."""
        self._free: list[Line] = []
        self._room = asyncio.Semaphore(most)

    def move(self, port: int) -> None:
        """Uses another port of the server from now on."""
        self.port = port
        self.close()

    def close(self) -> None:
        for _, writer in self._free:
            writer.close()
        self._free.clear()

    async def post(self, path: str, body: bytes, client: str = "127.0.0.1") -> Answer:
        return await self._call("POST", path, body, client)

    async def get(self, path: str) -> Answer:
        return await self._call("GET", path, b"", "127.0.0.1")

    async def cut(self, path: str, body: bytes, client: str = "127.0.0.1") -> None:
        """Sends the call and hangs up before the answer."""
        async with self._room:
            try:
                _, writer = await asyncio.open_connection(self.host, self.port)
                writer.write(self._head("POST", path, body, client) + body)
                await writer.drain()
                writer.close()
            except OSError:
                return

    async def _call(self, method: str, path: str, body: bytes, client: str) -> Answer:
        async with self._room:
            self.calls += 1
            began = time.monotonic()
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    answer = await self._exchange(self._head(method, path, body, client) + body)
            except (OSError, TimeoutError, EOFError, ValueError) as error:
                self.refused += 1
                raise NoReply(repr(error)) from None
        if path in COMMITTED:
            self.written = max(self.written, began)
        return answer

    def _head(self, method: str, path: str, body: bytes, client: str) -> bytes:
        shown = path.startswith("/api/v1") and self.token
        token = f"authorization: Bearer {self.token}\r\n" if shown else ""
        return HEAD.format(
            method=method, path=path, client=client, token=token, length=len(body)
        ).encode()

    async def _exchange(self, request: bytes) -> Answer:
        port = self.port
        line = self._free.pop() if self._free else await asyncio.open_connection(self.host, port)
        try:
            line[1].write(request)
            head = await line[0].readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            body = await line[0].readexactly(length)
        except BaseException:
            line[1].close()
            raise
        if port == self.port:
            self._free.append(line)
        else:
            line[1].close()  # it leads to the server's previous port
        answer = json.loads(body)
        if not isinstance(answer, dict):
            raise ValueError(body[:100])
        return answer
