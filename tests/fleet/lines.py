"""Connections to a server for callers without coroutines: answers arrive as callbacks.

`SharedLines` are like a proxy's: few, busy, and each call names the client for whom it is
forwarded. `OwnLines` are those of workers that call directly: each from its own address, and kept
as long as a careful client trusts an idle connection.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

Heard = Callable[[int, bytes], None]
"""A callback with status and body; the status is zero if the outcome is unknown."""
LOST = 0
ANSWER_SECONDS = 30.0
IDLE_SECONDS = 140.0
"""How long an idle line is kept; the server closes it after 150 seconds."""
SWEEP_SECONDS = 1.0


@dataclass(slots=True)
class Call:
    request: bytes
    heard: Heard
    address: str
    until: float


class Line(asyncio.Protocol):
    """A connection with one call at a time."""

    __slots__ = ("_buffer", "_call", "_over", "_transport", "idle_since")

    def __init__(self, over: Callable[["Line"], None]) -> None:
        self._over = over
        self._transport: asyncio.Transport | None = None
        self._call: Call | None = None
        self._buffer = b""
        self.idle_since = 0.0

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport does not derive from asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish(LOST, b"")

    def send(self, call: Call) -> None:
        assert self._transport is not None
        self._call = call
        self._transport.write(call.request)

    def data_received(self, data: bytes) -> None:
        self._buffer = buffer = self._buffer + data if self._buffer else data
        end = buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = buffer[:end].lower()
        place = head.find(b"\r\ncontent-length:") + 17
        if place < 17:
            self.close()
            return
        stop = head.find(b"\r\n", place)
        length = int(head[place : stop if stop > 0 else end])
        if len(buffer) < end + 4 + length:
            return
        self._buffer = b""
        if b"\r\nconnection: close" in head:
            self.close()
        self._finish(int(head[9:12]), buffer[end + 4 :])

    def expire(self, now: float) -> None:
        if self._call is not None and self._call.until < now:
            self.close()
            self._finish(LOST, b"")

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _finish(self, status: int, body: bytes) -> None:
        call, self._call = self._call, None
        self._over(self)
        if call is not None:
            call.heard(status, body)


class Lines:
    """Lines to one server. The subclasses decide which idle ones are kept."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.opened = 0
        self._loop = asyncio.get_running_loop()
        self._in_use: dict[Line, str] = {}
        self._dialling: set[asyncio.Task[None]] = set()
        self._sweeper = self._loop.call_later(SWEEP_SECONDS, self._sweep)

    def call(self, request: bytes, heard: Heard, address: str) -> None:
        raise NotImplementedError

    def kept(self) -> list[Line]:
        """The idle lines."""
        raise NotImplementedError

    def keep(self, line: Line, address: str) -> None:
        """Takes back a line whose call was answered; it may be closed."""
        raise NotImplementedError

    def move(self, port: int) -> None:
        """Uses another port of the server from now on."""
        self.port = port
        for line in [*self.kept(), *self._in_use]:
            line.close()

    def close(self) -> None:
        self._sweeper.cancel()
        self.move(self.port)

    def sweep(self, now: float) -> None:
        """Gives up lines without an answer; called once a second."""
        for line in [*self._in_use]:
            line.expire(now)

    def make_call(self, request: bytes, heard: Heard, address: str) -> Call:
        return Call(request, heard, address, self._loop.time() + ANSWER_SECONDS)

    def send(self, line: Line, call: Call) -> None:
        self._in_use[line] = call.address
        line.send(call)

    def dial(self, call: Call, address: str | None = None) -> None:
        task = self._loop.create_task(self._dial(call, address))
        self._dialling.add(task)
        task.add_done_callback(self._dialling.discard)

    async def _dial(self, call: Call, address: str | None) -> None:
        self.opened += 1
        local = (address, 0) if address else None
        try:
            _, line = await self._loop.create_connection(
                lambda: Line(self._free), "127.0.0.1", self.port, local_addr=local
            )
        except OSError:
            call.heard(LOST, b"")
        else:
            self.send(line, call)

    def _free(self, line: Line) -> None:
        address = self._in_use.pop(line, None)
        if address is not None:
            self.keep(line, address)

    def _sweep(self) -> None:
        self.sweep(self._loop.time())
        self._sweeper = self._loop.call_later(SWEEP_SECONDS, self._sweep)


class OwnLines(Lines):
    """A line for each client address, connected from it."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self._idle: dict[str, Line] = {}

    def call(self, request: bytes, heard: Heard, address: str) -> None:
        call = self.make_call(request, heard, address)
        line = self._idle.pop(address, None)
        if line is not None and line.is_open:
            self.send(line, call)
        else:
            self.dial(call, address)

    def kept(self) -> list[Line]:
        return [*self._idle.values()]

    def keep(self, line: Line, address: str) -> None:
        if line.is_open:
            line.idle_since = self._loop.time()
            self._idle[address] = line

    def sweep(self, now: float) -> None:
        super().sweep(now)
        for address, line in [*self._idle.items()]:
            if not line.is_open or now - line.idle_since > IDLE_SECONDS:
                line.close()
                del self._idle[address]


class SharedLines(Lines):
    """A limited number of lines for all callers; a call that finds none free is queued."""

    def __init__(self, port: int, most: int = 64) -> None:
        super().__init__(port)
        self.waited = 0
        """The number of calls that found no line free."""
        self._most = most
        self._idle: list[Line] = []
        self._waiting: deque[Call] = deque()

    def call(self, request: bytes, heard: Heard, address: str) -> None:
        call = self.make_call(request, heard, address)
        while self._idle:
            line = self._idle.pop()
            if line.is_open:
                self.send(line, call)
                return
        if len(self._in_use) + len(self._dialling) < self._most:
            self.dial(call)
        else:
            self.waited += 1
            self._waiting.append(call)

    def kept(self) -> list[Line]:
        return self._idle

    def keep(self, line: Line, address: str) -> None:
        if not self._waiting:
            self._idle.append(line)
        elif line.is_open:
            self.send(line, self._waiting.popleft())
        else:
            self.dial(self._waiting.popleft())
