"""The body of a call: small ones are read at once, large ones when it is known who sends them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from starlette.types import Receive, Scope

from rookery.protocol.faults import TooLarge
from rookery.protocol.worker.heads import HEAD_BYTES
from rookery.web.bodies import next_message, still_there
from rookery.web.scope import body_in, has_more, header


@dataclass(frozen=True, slots=True)
class Arriving:
    """A body of which the head has come: all of it where it is small."""

    head: bytes
    more: bool
    most_bytes: int

    @property
    def is_small(self) -> bool:
        return not self.more and len(self.head) <= HEAD_BYTES


async def arriving(scope: Scope, receive: Receive, most_bytes: int) -> Arriving:
    """Raises TooLarge where the body says that it is, or is so in its first pieces."""
    length = header(scope, b"content-length")
    if length.isdecimal() and int(length[:20]) > most_bytes:
        raise TooLarge(limit=most_bytes)
    # The first piece needs no time limit of its own: the connection has one up to there.
    message = still_there(await receive())
    head, more = body_in(message), has_more(message)
    while more and len(head) <= HEAD_BYTES:
        message = await next_message(receive)
        head += body_in(message)
        more = has_more(message)
    if len(head) > most_bytes:
        raise TooLarge(limit=most_bytes)
    return Arriving(head, more, most_bytes)


async def following(body: Arriving, receive: Receive) -> AsyncIterator[bytes]:
    """What comes after the head; raises TooLarge when it is too much."""
    size, more = len(body.head), body.more
    while more:
        message = await next_message(receive)
        size += len(body_in(message))
        if size > body.most_bytes:
            raise TooLarge(limit=body.most_bytes)
        yield body_in(message)
        more = has_more(message)


async def whole(body: Arriving, receive: Receive) -> bytes:
    """All of it in memory: for what is limited to a few megabytes."""
    gathered = bytearray(body.head)
    async for piece in following(body, receive):
        gathered += piece
    return bytes(gathered)
