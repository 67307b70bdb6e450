"""The body of a call: small ones in memory, large ones through a file, decoded in a thread."""

import asyncio
import tempfile
from collections.abc import Callable
from typing import IO, TypeVar

from starlette.types import Message, Receive

from rookery.boundary.offload import Threads
from rookery.web.bodies import BODY_SECONDS, LARGE
from rookery.web.faults import BodyTooSlow, Fault
from rookery.web.scope import body_in, has_more

T = TypeVar("T")

PIECE = 1024 * 1024
"""A large body is written to its file in pieces of about this size."""


class ClientLeft(Fault):
    """The connection was closed before the body was whole."""


async def taken_in(receive: Receive, decode: Callable[[bytes], T], threads: Threads) -> T:
    """What the body says; its size is limited further out."""
    message = await _next(receive)
    body = body_in(message)
    if not has_more(message):
        return decode(body) if len(body) <= LARGE else await threads.cpu(decode, body)
    return await _taken_in_pieces(bytearray(body), receive, decode, threads)


async def _taken_in_pieces(
    body: bytearray, receive: Receive, decode: Callable[[bytes], T], threads: Threads
) -> T:
    more = True
    while more and len(body) <= LARGE:
        message = await _next(receive)
        body += body_in(message)
        more = has_more(message)
    if more:
        return await _spooled(body, receive, decode, threads)
    whole = bytes(body)
    return decode(whole) if len(whole) <= LARGE else await threads.cpu(decode, whole)


async def _spooled(
    body: bytearray, receive: Receive, decode: Callable[[bytes], T], threads: Threads
) -> T:
    """However many large bodies arrive at a time, each takes a piece of memory until its turn."""
    file = await threads.io(tempfile.TemporaryFile)
    try:
        more = True
        while more:
            message = await _next(receive)
            body += body_in(message)
            more = has_more(message)
            if len(body) >= PIECE or not more:
                await threads.io(file.write, bytes(body))
                body.clear()
        return await threads.cpu(_decoded, file, decode)
    finally:
        await threads.io(file.close)


def _decoded(file: IO[bytes], decode: Callable[[bytes], T]) -> T:
    file.seek(0)
    return decode(file.read())


async def _next(receive: Receive) -> Message:
    try:
        async with asyncio.timeout(BODY_SECONDS):
            message = await receive()
    except TimeoutError:
        raise BodyTooSlow from None
    if message["type"] == "http.disconnect":
        raise ClientLeft
    return message
