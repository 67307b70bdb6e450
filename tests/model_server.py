"""A fake endpoint of a language model that answers as tests demand, however badly."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

TOKENS = ("Razoring", " was", " tried", " [1]", " and", " failed", " [99]", ".")
ANSWER = "Razoring was tried [1] and failed ."
"""The answer of the model, without the citation of a nonexistent passage."""

LATE_SECONDS = 2.5


@dataclass(slots=True)
class FakeModel:
    """How the next calls are answered, and what happened to the last ones."""

    manner: str = "whole"
    """`whole`, `breaks`, `garbage`, `hangs`, `silent`, `late`, `refuses`, `reports` or `dribbles`;
    several, separated by commas, are used in sequence."""
    pause: float = 0.0
    url: str = ""
    bodies: list[dict[str, object]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    open: int = 0
    """The number of calls in progress."""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._take(reader)
                manners = self.manner.split(",")
                await self._reply(manners[len(self.bodies) % len(manners)], reader, writer)
        finally:
            self.open -= 1
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _take(self, reader: asyncio.StreamReader) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        length = next(
            int(line.split(":")[1])
            for line in head.splitlines()
            if line.lower().startswith("content-length")
        )
        self.bodies.append(json.loads(await reader.readexactly(length)))

    async def _reply(
        self, manner: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if manner == "silent":
            await reader.read()
            return
        if manner == "late" and await self._is_left(reader):
            return
        status = "500 Oh no" if manner == "refuses" else "200 OK"
        kind = "Content-Type: text/event-stream"
        writer.write(f"HTTP/1.1 {status}\r\n{kind}\r\nConnection: close\r\n\r\n".encode())
        if manner == "refuses":
            writer.write(b'{"error": "the key sk-123 is wrong"}')
            return
        await self._tokens(manner, reader, writer)

    async def _is_left(self, reader: asyncio.StreamReader) -> bool:
        """Whether the caller leaves while it waits."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LATE_SECONDS):
                return await reader.read() == b""
        return False

    async def _tokens(
        self, manner: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if manner == "reports":
            writer.write(b'data: {"error": {"message": "out of memory"}}\n\n')
            return
        if manner == "garbage":
            writer.write(b"<html>\n" * 30 + b"\xff\xfe\x00{]\n" * 30)
            return
        for number, token in enumerate(TOKENS):
            if number == 4 and manner == "breaks":
                return
            if number == 4 and manner == "hangs":
                await reader.read()
                return
            if number == 4 and manner == "dribbles":
                writer.write(b"this is no event\n\ndata: {\n\n")
            writer.write(self._encode(token))
            await writer.drain()
            await asyncio.sleep(self.pause)
        writer.write(b'{"done": true}\n' if self.is_ollama else b"data: [DONE]\n\n")
        await writer.drain()

    @property
    def is_ollama(self) -> bool:
        """Whether the last call used Ollama's address."""
        return "/api/chat " in self.heads[-1]

    def _encode(self, token: str) -> bytes:
        if self.is_ollama:
            return json.dumps({"message": {"content": token}, "done": False}).encode() + b"\n"
        return (
            b"data: " + json.dumps({"choices": [{"delta": {"content": token}}]}).encode() + b"\n\n"
        )


@asynccontextmanager
async def open_model(manner: str = "whole", pause: float = 0.0) -> AsyncIterator[FakeModel]:
    """Serves a model on the test's own loop, at `url`."""
    model = FakeModel(manner, pause)
    server = await asyncio.start_server(model.answer, "127.0.0.1", 0, backlog=1024)
    model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield model
    finally:
        server.close()
