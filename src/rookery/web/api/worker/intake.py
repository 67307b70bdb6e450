"""The body of a call: small ones in memory, large ones through a file, decoded in a thread."""

import tempfile
from collections.abc import Callable
from typing import IO, TypeVar

from starlette.types import Receive

from rookery.boundary.offload import Threads
from rookery.web.bodies import LARGE, decoded, next_message, still_there
from rookery.web.faults import BodyTooLarge
from rookery.web.scope import body_in, has_more

T = TypeVar("T")

PIECE = 1024 * 1024
"""A large body is written to its file in pieces of about this size."""


async def taken_in(
    receive: Receive, decode: Callable[[bytes], T], threads: Threads, most: int
) -> T:
    """What the body says; raises BodyTooLarge beyond so many bytes."""
    # The first piece needs no time limit of its own: the connection has one up to there.
    message = still_there(await receive())
    body, more = body_in(message), has_more(message)
    while more and len(body) <= LARGE:
        message = await next_message(receive)
        body += body_in(message)
        more = has_more(message)
    if more:
        return await _spooled(body, receive, decode, threads, most)
    if len(body) > most:
        raise BodyTooLarge
    return await decoded(body, decode, threads)


async def _spooled(
    head: bytes, receive: Receive, decode: Callable[[bytes], T], threads: Threads, most: int
) -> T:
    """However many large bodies arrive at a time, each takes a piece of memory until its turn."""
    piece, size, more = bytearray(head), len(head), True
    file = await threads.io(tempfile.TemporaryFile)
    try:
        while more:
            if size > most:
                raise BodyTooLarge
            message = await next_message(receive)
            piece += body_in(message)
            size += len(body_in(message))
            more = has_more(message)
            if len(piece) >= PIECE or not more:
                await threads.io(file.write, bytes(piece))
                piece.clear()
        return await threads.cpu(_decoded, file, decode)
    finally:
        await threads.io(file.close)


def _decoded(file: IO[bytes], decode: Callable[[bytes], T]) -> T:
    file.seek(0)
    return decode(file.read())
