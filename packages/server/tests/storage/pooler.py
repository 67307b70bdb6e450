"""A connection pooler in small, and a server that pretends to be old: what must be recognised.

Speaks just enough of the protocol: a client's start goes to a backend of its own, after that every
client message goes to whichever backend is free, until that says it is ready for the next
transaction.
"""

import asyncio
import contextlib
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

from rookery.server.db.target import Target

PORT = 6432
Backend = tuple[StreamReader, StreamWriter]


class Pooler:
    def __init__(self, target: Target, *, newest_first: bool, version: str | None = None) -> None:
        self._path = f"{target.connect_args['host']}/.s.PGSQL.{target.connect_args['port']}"
        self._newest_first = newest_first
        self._version = version
        self._free: list[Backend] = []
        self._writers: list[StreamWriter] = []
        self._clients: list[asyncio.Task[None]] = []

    def accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._writers.append(writer)
        self._clients.append(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await self._start(reader, writer)
            while True:
                await self._transaction(reader, writer)

    async def _start(self, reader: StreamReader, writer: StreamWriter) -> None:
        size = await reader.readexactly(4)
        start = size + await reader.readexactly(int.from_bytes(size) - 4)
        backend = await asyncio.open_unix_connection(self._path)
        self._writers.append(backend[1])
        backend[1].write(start)
        await self._answer(backend, writer)
        self._free.append(backend)

    async def _transaction(self, reader: StreamReader, writer: StreamWriter) -> None:
        message = await read_message(reader)
        if message.startswith(b"X"):
            writer.close()
            raise ConnectionAbortedError
        backend = self._free.pop(-1 if self._newest_first else 0)
        backend[1].write(message)
        while await self._answer(backend, writer) != b"I":
            backend[1].write(await read_message(reader))
        self._free.append(backend)

    async def _answer(self, backend: Backend, writer: StreamWriter) -> bytes:
        """Passes on what the backend says until it is ready; gives the state it is in then."""
        while True:
            message = await read_message(backend[0])
            if self._version and message.startswith(b"S") and b"server_version\0" in message:
                text = b"server_version\0" + self._version.encode() + b"\0"
                message = b"S" + (len(text) + 4).to_bytes(4) + text
            writer.write(message)
            if message.startswith(b"Z"):
                return message[-1:]

    async def close(self) -> None:
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        for writer in self._writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


async def read_message(reader: StreamReader) -> bytes:
    head = await reader.readexactly(5)
    return head + await reader.readexactly(int.from_bytes(head[1:]) - 4)


@asynccontextmanager
async def pooled(
    target: Target, folder: Path, *, newest_first: bool = True, version: str | None = None
) -> AsyncIterator[str]:
    """The URL of such a pooler in front of a database."""
    pooler = Pooler(target, newest_first=newest_first, version=version)
    server = await asyncio.start_unix_server(pooler.accept, folder / f".s.PGSQL.{PORT}")
    name = target.connect_args["database"]
    try:
        yield f"postgresql://rookery@/{name}?host={quote(str(folder), safe='')}&port={PORT}"
    finally:
        server.close()
        await pooler.close()
