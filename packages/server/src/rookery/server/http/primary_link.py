"""Persistent connections to the primary, and calls over them: HTTP/1.1, one call at a time.

Made for small calls with complete answers to one server, thousands per second. httptools, which
parses uvicorn's requests, parses the answers here. Anything that is not exactly one answer to one
call ends the connection.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, cast
from urllib.parse import urlsplit

import httptools

MOST_CONNECTIONS = 512
MOST_HELD = 8192
"""How many connections may be used by requests that wait for work. Other calls have their own."""
CONNECT_SECONDS = 1.0
IDLE_SECONDS = 60.0
"""How long an idle connection is kept: half as long as the primary keeps one, so that the primary
seldom closes it first."""
LARGEST_HEAD = 64 * 1024
LARGEST_ANSWER = 8 * 2**20


class NotReached(Exception):
    """No connection to the primary could be made, so the call was not sent."""


class AnswerLost(Exception):
    """The call was sent, and no complete answer arrived."""


class AnswerLate(AnswerLost):
    """No answer came in time."""


class Reply(NamedTuple):
    """A complete answer. The names of its headers are in lower case."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def header(self, name: bytes) -> bytes:
        """The value of the first header of that name, or an empty one."""
        return next((value for key, value in self.headers if key == name), b"")


class _Connection(asyncio.Protocol):
    """One connection, used for one call after another."""

    def __init__(self, forget: Callable[["_Connection"], None]) -> None:
        self._forget = forget
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Reply] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._reset()
        self._came = 0
        self.idle_since = 0.0
        self.usable = True

    def _reset(self) -> None:
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._in_head = True

    def call(self, request: bytes) -> "asyncio.Future[Reply]":
        """Send a whole request. The future gets its answer, or AnswerLost."""
        assert self._waiter is None
        assert self._transport is not None
        self._waiter = asyncio.get_running_loop().create_future()
        self._came = 0
        self._transport.write(request)
        return self._waiter

    def close(self) -> None:
        self.usable = False
        self._fail("the connection is closed")
        if self._transport is not None:
            self._transport.abort()

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.usable = False
        self._forget(self)
        self._fail(repr(exc) if exc else "the primary closed the connection")

    def data_received(self, data: bytes) -> None:
        if self._waiter is None or self._waiter.done():
            # Data without a request is not an answer to any call.
            self.close()
            return
        self._came += len(data)
        try:
            self._parser.feed_data(data)
            if self._came > (LARGEST_HEAD if self._in_head else LARGEST_ANSWER):
                raise _TooLarge
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._end(f"what came is no answer: {error!r}")
        except _TooLarge:
            self._end("the answer is too large")

    # Called by the parser.

    def on_message_begin(self) -> None:
        if self._waiter is None or self._waiter.done():
            self.usable = False
        self._reset()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._in_head = False

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            return  # an interim (1xx) answer before the final one
        waiter, self._waiter = self._waiter, None
        self._in_head = False
        self.usable = self.usable and self._parser.should_keep_alive()
        if waiter is not None and not waiter.done():
            waiter.set_result(Reply(status, self._headers, b"".join(self._body)))

    def _end(self, reason: str) -> None:
        self._fail(reason)
        self.close()

    def _fail(self, reason: str) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(AnswerLost(reason))


class _TooLarge(Exception):
    """The answer exceeds its size limit."""


class _Places:
    """A pool with a limited number of connections: those in use, idle ones, and callers that wait
    for one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0
        """The number of connections that are open or being made."""
        self._free: list[_Connection] = []
        self._waiting: deque[asyncio.Future[_Connection | None]] = deque()

    def take_free(self) -> _Connection | None:
        """An open, idle connection; None if there is none."""
        oldest = asyncio.get_running_loop().time() - IDLE_SECONDS
        while self._free:
            connection = self._free.pop()
            if connection.usable and connection.idle_since > oldest:
                return connection
            connection.close()
            self._taken -= 1
        return None

    async def take(self, until: float) -> _Connection | None:
        """An idle connection. None means that the caller has a place and has to open a connection
        itself."""
        connection = self.take_free()
        if connection is not None:
            return connection
        if self._taken < self._most:
            self._taken += 1
            return None
        waiter: asyncio.Future[_Connection | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        return await self._wait(waiter, until)

    async def _wait(
        self, waiter: "asyncio.Future[_Connection | None]", until: float
    ) -> _Connection | None:
        try:
            async with asyncio.timeout_at(until):
                return await waiter
        except BaseException as error:
            if waiter.done() and not waiter.cancelled() and not waiter.exception():
                self.give_back(waiter.result())
            if isinstance(error, TimeoutError):
                raise NotReached("too many calls are under way") from None
            raise

    def give_back(self, connection: _Connection | None) -> None:
        """Give a connection to the caller that waits longest, or keep it for the next call. With
        None, only the place is given back."""
        usable = connection if connection is not None and connection.usable else None
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(usable)
                return
        if usable is None:
            self._taken -= 1
        else:
            usable.idle_since = asyncio.get_running_loop().time()
            self._free.append(usable)

    def refuse_all(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_exception(NotReached(_OVER))
        self._waiting.clear()


_OVER = "another process is primary by now"


class PrimaryLink:
    """The connections to one primary. Used on the event loop only."""

    def __init__(
        self, address: str, *, most: int = MOST_CONNECTIONS, most_held: int = MOST_HELD
    ) -> None:
        self.address = address
        place = urlsplit(address)
        self._host = place.hostname or ""
        self._tls = place.scheme == "https"
        self._port = place.port or (443 if self._tls else 80)
        self._short, self._held = _Places(most), _Places(most_held)
        self._open: set[_Connection] = set()
        self._closed = False

    def __len__(self) -> int:
        """The number of open connections."""
        return len(self._open)

    async def ask(self, request: bytes, seconds: float, *, held: bool = False) -> Reply:
        """Send a whole request and return its whole answer. Raises NotReached if nothing was sent,
        or AnswerLost. Cancelling it closes the connection, so that the primary notices."""
        loop = asyncio.get_running_loop()
        places, until = self._held if held else self._short, loop.time() + seconds
        connection = await places.take(until)
        try:
            if connection is None:
                connection = await self._connect()
            answer = connection.call(request)
            timer = loop.call_at(until, _give_up, answer)
            try:
                return await answer
            except BaseException:
                connection.close()
                raise
            finally:
                timer.cancel()
        finally:
            places.give_back(connection)

    def ask_at_once(self, request: bytes, seconds: float) -> "asyncio.Future[Reply] | None":
        """Send a request without awaiting. The future gets the answer, or AnswerLost. Returns None,
        and sends nothing, if no connection is idle."""
        connection = self._short.take_free()
        if connection is None:
            return None
        answer = connection.call(request)
        timer = asyncio.get_running_loop().call_later(seconds, _give_up, answer)
        answer.add_done_callback(partial(self._end_call, connection, timer))
        return answer

    def _end_call(
        self,
        connection: _Connection,
        timer: asyncio.TimerHandle,
        answer: "asyncio.Future[Reply]",
    ) -> None:
        timer.cancel()
        if answer.cancelled() or answer.exception():
            connection.close()
        self._short.give_back(connection)

    async def reach(self) -> None:
        """Open a connection, unless one is idle. Raises NotReached."""
        connection = await self._short.take(asyncio.get_running_loop().time() + CONNECT_SECONDS)
        try:
            connection = connection or await self._connect()
        finally:
            self._short.give_back(connection)

    def close(self) -> None:
        """Close all connections, which ends the calls under way. For an address that is no longer
        the primary's."""
        self._closed = True
        for connection in tuple(self._open):
            connection.close()
        self._short.refuse_all()
        self._held.refuse_all()

    async def _connect(self) -> _Connection:
        if self._closed:
            raise NotReached(_OVER)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await loop.create_connection(
                    lambda: _Connection(self._open.discard),
                    self._host,
                    self._port,
                    ssl=self._tls or None,
                )
        except (OSError, TimeoutError, ValueError) as error:
            raise NotReached(repr(error)) from None
        self._open.add(connection)
        return connection


def _give_up(answer: "asyncio.Future[Reply]") -> None:
    if not answer.done():
        answer.set_exception(AnswerLate("no answer in time"))
