"""A proxy on the database's socket that cuts one connection at a chosen moment of a round of the
group commit, holds rounds back for ever, or blocks all traffic for a while.

A round is one prepared statement: Bind and Execute carry it out, and Sync commits it.
"""

import asyncio
import contextlib
import enum
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rookery.server.db.target import Target, socket_target

PARSE, BIND, EXECUTE, SYNC, READY = b"P", b"B", b"E", b"S", b"Z"
ROUND = b"WITH pass AS ("


class Cut(enum.Enum):
    """The moments at which the connection breaks."""

    BEFORE_ROUND = "before the round's statement reaches the server"
    IN_ROUND = "after the statement reached the server, before it is carried out"
    BEFORE_COMMIT = "after it was carried out, before Sync reaches the server"
    COMMIT_SENT = "after Sync was sent, before its reply"
    COMMIT_REPLIED = "after the server replied, before the client sees it"
    REPLY_SEEN = "after the client has seen the reply"


CUT_BEFORE = {Cut.BEFORE_ROUND: BIND, Cut.IN_ROUND: EXECUTE, Cut.BEFORE_COMMIT: SYNC}
"""The message that does not reach the server any more."""


class Proxy:
    """Forwards messages until the armed moment comes."""

    def __init__(self, behind: str) -> None:
        self._behind = behind
        self._armed: Cut | None = None
        self._held = False
        self.is_open = asyncio.Event()
        """Cleared while nothing is forwarded in either direction."""
        self.is_open.set()
        self.holding = asyncio.Event()
        """Set when a round is held back."""
        self._serving: set[asyncio.Task[None]] = set()
        self._sessions: set[asyncio.Task[Any]] = set()

    def arm(self, cut: Cut) -> None:
        """Arms a cut for the next round."""
        self._armed = cut

    def hold(self) -> None:
        """Keeps every round from being committed from now on."""
        self._held = True

    async def pass_commit(self) -> None:
        if self._held:
            self.holding.set()
            await asyncio.Event().wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        own = asyncio.current_task()
        assert own is not None
        self._sessions.add(own)
        own.add_done_callback(self._sessions.discard)
        there, back = await asyncio.open_unix_connection(self._behind)
        session = _Session(self, reader, writer, there, back)
        halves = [asyncio.create_task(session.ask()), asyncio.create_task(session.answer())]
        self._serving.update(halves)
        await asyncio.wait(halves, return_when=asyncio.FIRST_COMPLETED)
        for end in (writer, back):
            end.close()
        for half in halves:
            half.cancel()
        await asyncio.wait(halves)
        self._serving.difference_update(halves)

    async def close(self) -> None:
        for half in self._serving:
            half.cancel()
        if self._sessions:
            await asyncio.wait(self._sessions)

    def take(self) -> Cut | None:
        armed, self._armed = self._armed, None
        return armed


class _Session:
    """One proxied connection."""

    def __init__(
        self,
        proxy: Proxy,
        client: asyncio.StreamReader,
        to_client: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
    ) -> None:
        self._proxy = proxy
        self._client, self._to_client = client, to_client
        self._server, self._to_server = server, to_server
        self._cut: Cut | None = None
        self._rounds: set[bytes] = set()
        """The names of the prepared statements of rounds."""
        self._in_round = False
        self._committing = False

    async def ask(self) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._pass_start()
            while True:
                kind, body = await _message(self._client)
                await self._proxy.is_open.wait()
                self._look(kind, body)
                if self._in_round and self._cut and CUT_BEFORE.get(self._cut) == kind:
                    return
                if self._in_round and kind == SYNC:
                    await self._proxy.pass_commit()
                    self._committing, self._in_round = True, False
                self._to_server.write(kind + struct.pack("!I", len(body) + 4) + body)
                await self._to_server.drain()
                if self._committing and self._cut is Cut.COMMIT_SENT:
                    return

    async def answer(self) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                kind, body = await _message(self._server)
                await self._proxy.is_open.wait()
                committed = self._committing and kind == READY
                if committed and self._cut is Cut.COMMIT_REPLIED:
                    return
                self._to_client.write(kind + struct.pack("!I", len(body) + 4) + body)
                await self._to_client.drain()
                if committed and self._cut is Cut.REPLY_SEEN:
                    return

    async def _pass_start(self) -> None:
        """Forwards the first message of a connection, which has no type byte."""
        size = await self._client.readexactly(4)
        rest = await self._client.readexactly(struct.unpack("!I", size)[0] - 4)
        self._to_server.write(size + rest)

    def _look(self, kind: bytes, body: bytes) -> None:
        """Notes which statements are rounds, and where one begins."""
        if kind == PARSE:
            name, _, sql = body.partition(b"\0")
            if sql.startswith(ROUND):
                self._rounds.add(name)
        elif kind == BIND and body.split(b"\0")[1] in self._rounds:
            self._cut, self._in_round, self._committing = self._proxy.take(), True, False


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    kind = await reader.readexactly(1)
    (size,) = struct.unpack("!I", await reader.readexactly(4))
    return kind, await reader.readexactly(size - 4)


@asynccontextmanager
async def proxied(target: Target, folder: Path) -> AsyncIterator[tuple[Proxy, Target]]:
    """Runs a proxy; yields it with a target that reaches the database through it."""
    args = target.connect_args
    name = f".s.PGSQL.{args['port']}"
    proxy = Proxy(str(Path(args["host"]) / name))
    server = await asyncio.start_unix_server(proxy.serve, folder / name)
    try:
        yield proxy, socket_target(str(folder), args["port"], args["user"], args["database"])
    finally:
        server.close()
        await proxy.close()
