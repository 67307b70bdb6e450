"""Bodies in and out of the app: read within a time limit, and off the loop where they are large."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec
from anyio import CancelScope
from starlette.responses import Response
from starlette.types import Message, Receive

from rookery.boundary.offload import Threads
from rookery.web.faults import BodyTooLarge, BodyTooSlow, ClientLeft, TooManyBodies
from rookery.web.scope import body_in, has_more

T = TypeVar("T")

LARGE_AT_ONCE = 8
PLACE_SECONDS = 10.0
"""A worker waits for thirty seconds in all."""
MOST_WAITING = 256

# Decoding this much takes well under a millisecond; more goes to a thread.
LARGE = 64 * 1024
# The most that can be set: the wire, which is told of the setting, may be less patient.
BODY_SECONDS = 30.0


async def read_body(
    receive: Receive, seconds: float = BODY_SECONDS, most: int | None = None
) -> bytes:
    """The whole body; its size is limited further out, unless it is here."""
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(seconds):
            while more:
                message = await receive()
                body += body_in(message)
                more = has_more(message)
                if most is not None and len(body) > most:
                    raise BodyTooLarge
    except TimeoutError:
        raise BodyTooSlow from None
    return bytes(body)


class LargeBodies:
    """Takes few large bodies at a time, of one user half of them at most.

    Whoever finds no place waits for one, with the head of the body in memory and the rest of it
    not read; after a while, or where too many wait, they are told to try again.
    """

    def __init__(self, most: int = LARGE_AT_ONCE, seconds: float = PLACE_SECONDS) -> None:
        self._most = most
        self._seconds = seconds
        self._holders: Counter[str] = Counter()
        self._waiting = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def place(self, user: str) -> AsyncIterator[None]:
        """Raises TooManyBodies."""
        await self._take(user)
        try:
            yield
        finally:
            self._holders[user] -= 1
            self._holders += Counter()  # forgets who holds none
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


async def pieces(receive: Receive) -> AsyncIterator[bytes]:
    """A large body as it comes; its size is limited further out."""
    more = True
    while more:
        message = await next_message(receive)
        yield body_in(message)
        more = has_more(message)


async def next_message(receive: Receive, seconds: float = BODY_SECONDS) -> Message:
    """The next piece of a body; raises BodyTooSlow or ClientLeft."""
    try:
        async with asyncio.timeout(seconds):
            return still_there(await receive())
    except TimeoutError:
        raise BodyTooSlow from None


def still_there(message: Message) -> Message:
    if message["type"] == "http.disconnect":
        raise ClientLeft
    return message


async def decoded(body: bytes, decode: Callable[[bytes], T], threads: Threads) -> T:
    """What a body says; a large one is read in a thread."""
    return decode(body) if len(body) <= LARGE else await threads.cpu(decode, body)


def json_answer(
    value: object, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    return Response(msgspec.json.encode(value), status, headers, "application/json")
