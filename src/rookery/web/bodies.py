"""Bodies in and out of the app: read within a time limit, and off the loop where they are large."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

import msgspec
from starlette.responses import Response
from starlette.types import Message, Receive

from rookery.boundary.offload import Threads
from rookery.web.faults import BodyTooSlow, ClientLeft
from rookery.web.scope import body_in, has_more

T = TypeVar("T")

# Decoding this much takes well under a millisecond; more goes to a thread.
LARGE = 64 * 1024
# The most that can be set: the wire, which is told of the setting, may be less patient.
BODY_SECONDS = 30.0


async def read_body(receive: Receive, seconds: float = BODY_SECONDS) -> bytes:
    """The whole body; its size is limited further out."""
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(seconds):
            while more:
                message = await receive()
                body += body_in(message)
                more = has_more(message)
    except TimeoutError:
        raise BodyTooSlow from None
    return bytes(body)


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
