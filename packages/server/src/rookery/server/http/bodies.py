"""Reads and sends bodies: within a time limit, and in threads if they are large."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TypeVar, cast

import anyio
import msgspec
from anyio import CancelScope
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from rookery.core.boundary.offload import Gate, Threads
from rookery.server.http.faults import (
    BodyTooLarge,
    BodyTooSlow,
    ClientLeft,
    ForeignBody,
    TooManyBodies,
    TooManyRequests,
)
from rookery.server.http.internal_calls import BodyDigest, ForwardedCall
from rookery.server.http.scope import body_in, has_more, is_body
from rookery.server.identity.login import origin_of

T = TypeVar("T")

LARGE_AT_ONCE = 8
PLACE_SECONDS = 10.0
"""How long a large body may wait for a place. A worker waits thirty seconds in all for its
answer."""
MOST_WAITING = 256

# Decoding this much takes well under a millisecond; more goes to a thread.
LARGE = 64 * 1024
# The largest value of the setting. The connection knows the setting and may allow less.
BODY_SECONDS = 30.0
LEAST_BYTES_PER_SECOND = 16 * 1024
"""How fast a large body must arrive on average. A few senders of single bytes could otherwise hold
all places for large bodies for days."""


async def read_body(
    receive: Receive, seconds: float = BODY_SECONDS, most: int | None = None
) -> bytes:
    """Read a whole body. Without `most`, RequestLimits has already limited its size. Raises
    ClientLeft if the connection ends before the body does."""
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(seconds):
            while more:
                message = check_connected(await receive())
                body += body_in(message)
                more = has_more(message)
                if most is not None and len(body) > most:
                    raise BodyTooLarge
    except TimeoutError:
        raise BodyTooSlow from None
    return bytes(body)


class CheckedBody:
    """An ASGI `receive` for a call that another instance has forwarded. It raises ForeignBody
    before the end of a body that does not match the signed digest, so that a replaced body has no
    effect."""

    __slots__ = ("_call", "_digest", "_receive")

    def __init__(self, call: ForwardedCall, receive: Receive) -> None:
        self._call = call
        self._receive = receive
        self._digest = BodyDigest()

    async def __call__(self) -> Message:
        message = await self._receive()
        if is_body(message):
            self._digest.add(body_in(message))
            if not has_more(message) and not self._call.has_body(self._digest.text):
                raise ForeignBody
        return message


class LargeBodies:
    """Limits how many large bodies are read at once; one user may have at most half of the places.

    A call that finds no place waits for one, with the head of its body in memory and the rest
    unread. If that takes too long, or too many calls wait, it is refused and may be repeated.
    """

    def __init__(self, most: int = LARGE_AT_ONCE, seconds: float = PLACE_SECONDS) -> None:
        self._most = most
        self._seconds = seconds
        self._holders: Counter[str] = Counter()
        self._waiting = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def place(self, user: str) -> AsyncIterator[None]:
        """Hold a place for the length of the block. Raises TooManyBodies."""
        await self._take(user)
        try:
            yield
        finally:
            self._holders[user] -= 1
            self._holders += Counter()  # drops users who hold no place
            with CancelScope(shield=True):
                async with self._changed:
                    self._changed.notify_all()

    async def _take(self, user: str) -> None:
        if self._waiting >= MOST_WAITING:
            raise TooManyBodies
        self._waiting += 1
        try:
            async with asyncio.timeout(self._seconds), self._changed:
                await self._changed.wait_for(lambda: self._has_place(user))
                self._holders[user] += 1
        except TimeoutError:
            raise TooManyBodies from None
        finally:
            self._waiting -= 1

    def _has_place(self, user: str) -> bool:
        share = max(1, self._most // 2)
        return self._holders.total() < self._most and self._holders[user] < share


class UploadPlaces(LargeBodies):
    """The places for files that people upload."""


class Replayed:
    """An ASGI `receive` that first returns messages that were read before, then the following
    ones."""

    __slots__ = ("_receive", "_seen")

    def __init__(self, seen: Iterable[Message], receive: Receive) -> None:
        self._seen = iter(tuple(seen))
        self._receive = receive

    @classmethod
    def whole(cls, body: bytes, receive: Receive) -> "Replayed":
        """An ASGI `receive` that returns a body which has been read completely."""
        return cls([{"type": "http.request", "body": body, "more_body": False}], receive)

    async def __call__(self) -> Message:
        return next(self._seen, None) or await self._receive()


class KeptBody:
    """Keeps the pieces of a body as they are read, so that a request that was not answered can be
    carried out again from its beginning."""

    __slots__ = ("_kept", "_receive")

    def __init__(self, receive: Receive) -> None:
        self._kept: list[Message] = []
        self._receive = receive

    def again(self) -> Receive:
        """An ASGI `receive` that begins with the first piece, however much has been read before."""
        return Replayed(self._kept, self._read_on)

    async def _read_on(self) -> Message:
        message = await self._receive()
        if is_body(message):
            self._kept.append(message)
        return message


async def read_pieces(
    receive: Receive,
    *,
    patience: float = BODY_SECONDS,
    least_rate: float = LEAST_BYTES_PER_SECOND,
) -> AsyncIterator[bytes]:
    """The pieces of a large body as they arrive. RequestLimits has already limited its size. Raises
    BodyTooSlow, also if the sender has kept us waiting for longer than `patience` in all and sends
    less than `least_rate` bytes a second; the time that the reader takes does not count."""
    clock, more = asyncio.get_running_loop().time, True
    size, waited = 0, 0.0
    while more:
        began = clock()
        message = await next_message(receive)
        waited += clock() - began
        size += len(body_in(message))
        more = has_more(message)
        if more and waited > patience and size < waited * least_rate:
            raise BodyTooSlow
        yield body_in(message)


async def next_message(receive: Receive, seconds: float = BODY_SECONDS) -> Message:
    """The next message of a body. Raises BodyTooSlow or ClientLeft."""
    try:
        async with asyncio.timeout(seconds):
            return check_connected(await receive())
    except TimeoutError:
        raise BodyTooSlow from None


def check_connected(message: Message) -> Message:
    if message["type"] == "http.disconnect":
        raise ClientLeft
    return message


async def decode_body(body: bytes, decode: Callable[[bytes], T], threads: Threads) -> T:
    """Decode a body, in a thread if it is large."""
    return decode(body) if len(body) <= LARGE else await threads.cpu(decode, body)


# Answers without an end, and the registry that ends them.
#
# The server waits for every answer before it stops, so each long one joins `Streams`: server-sent
# events, downloads. When the process stops, `end_all` cancels them, and each closes its answer
# properly, with its last words if it has any.


class Streams:
    """The open streams of one process. Used on the event loop only."""

    def __init__(self) -> None:
        self._open: set[anyio.CancelScope] = set()
        self._ended = False
        self.joined = 0

    @contextmanager
    def join(self) -> Iterator[anyio.CancelScope]:
        """Register a stream for the length of the block. `end_all` leaves the block early, without
        an error."""
        with anyio.CancelScope() as scope:
            self._open.add(scope)
            self.joined += 1
            if self._ended:
                scope.cancel()
            try:
                yield scope
            finally:
                self._open.discard(scope)

    def end_all(self) -> int:
        """End every open stream now and every later one at once. Returns the number of open
        ones."""
        self._ended = True
        for scope in tuple(self._open):
            scope.cancel()
        return len(self._open)

    def __len__(self) -> int:
        return len(self._open)


class IncompleteFile(ConnectionError):
    """A file was not sent completely: the connection ends without the end of the answer, so that
    the client notices and asks again."""


class StreamedAnswer(Response):
    """An answer sent chunk by chunk until its source, its client or the process ends."""

    def __init__(
        self,
        source: AsyncIterator[bytes],
        streams: Streams,
        *,
        media_type: str,
        headers: dict[str, str] | None = None,
        last_words: bytes = b"",
        is_file: bool = False,
    ) -> None:
        """Set `is_file` for files: an incomplete file must not look like a complete one."""
        super().__init__(headers=headers, media_type=media_type)
        del self.headers["content-length"]
        self._is_file = is_file
        self._source = source
        self._streams = streams
        self._last_words = last_words

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        with self._streams.join() as until_told:
            leaving = asyncio.ensure_future(cancel_on_leave(receive, until_told))
            try:
                await self._send_all(send)
            finally:
                has_left = leaving.done()
                leaving.cancel()
        if self._is_file and until_told.cancel_called and not has_left:
            raise IncompleteFile("the process stops")
        last = self._last_words if until_told.cancel_called else b""
        await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _send_all(self, send: Send) -> None:
        source = cast("AsyncGenerator[bytes, None]", self._source)
        async with aclosing(source):
            async for chunk in source:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def cancel_on_leave(receive: Receive, stream: anyio.CancelScope) -> None:
    """Cancel a stream when its client leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.cancel()


# Places for long answers: a limited number in all, and a limited share for each address.

ADDRESS_DIVISOR = 5
"""One address may hold at most this fraction of the places: one in five."""


class TooManyStreams(TooManyRequests):
    """Too many streams are open from your address. Close some, or wait a little."""


class Places:
    """Counts long answers in all and per address. Used on the event loop only."""

    def __init__(self, gate: Gate, divisor: int = ADDRESS_DIVISOR) -> None:
        self._gate = gate
        self._most = max(1, gate.stats().size // divisor)
        self._held: Counter[str] = Counter()

    @contextmanager
    def enter(self, client: str) -> Iterator[None]:
        """Hold a place for the length of the block. Raises GateFull or TooManyStreams."""
        origin = origin_of(client)
        with self._gate.enter():
            if self._held[origin] >= self._most:
                raise TooManyStreams
            self._held[origin] += 1
            try:
                yield
            finally:
                self._held[origin] -= 1
                if not self._held[origin]:
                    del self._held[origin]


def encode_event(name: str, value: object) -> bytes:
    """An event of a stream. JSON has no line breaks, so the value takes one line of data."""
    return f"event: {name}\ndata: ".encode() + msgspec.json.encode(value) + b"\n\n"
