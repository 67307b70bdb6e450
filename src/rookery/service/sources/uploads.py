"""Uploads: bytes that come in pieces, written down and digested in threads as they come."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from anyio import CancelScope

from rookery.boundary.offload import Threads
from rookery.service.blobs import Blobs, Draft

T = TypeVar("T")
AT_ONCE = 2**20
"""Pieces are gathered up to this size, so that a thread is asked seldom."""


@dataclass(frozen=True, slots=True)
class Received:
    """An upload that is safe on the disk; its key means nothing to anybody yet."""

    blob: str
    sha256: str
    size: int


T_co = TypeVar("T_co", covariant=True)


class Look(Protocol[T_co]):
    """Somebody who reads along, and may refuse what comes."""

    def feed(self, data: bytes) -> bytes:
        """What is to be kept of it."""
        ...

    def rest(self) -> bytes:
        """What is to be kept besides, once all has come."""
        ...

    def finish(self) -> T_co:
        """What was seen."""
        ...


class NoLook:
    """For bytes that may be anything."""

    def feed(self, data: bytes) -> bytes:
        return data

    def rest(self) -> bytes:
        return b""

    def finish(self) -> None: ...


class Intake(Generic[T]):
    """Takes one upload in; several threads write it, one after the other."""

    def __init__(self, draft: Draft, look: Look[T]) -> None:
        self._draft = draft
        self._look = look
        self._digest = hashlib.sha256()
        self._size = 0

    def write(self, data: bytes) -> None:
        self._digest.update(data)
        self._size += len(data)
        self._draft.write(self._look.feed(data))

    def keep(self) -> tuple[Received, T]:
        """Nothing is kept that was refused."""
        self._draft.write(self._look.rest())
        seen = self._look.finish()
        return Received(self._draft.keep(), self._digest.hexdigest(), self._size), seen


async def received(
    pieces: AsyncIterator[bytes],
    blobs: Blobs,
    threads: Threads,
    look: Look[T],
    *,
    computing: bool = False,
) -> tuple[Received, T]:
    """The whole of it, and what was seen in it; whatever breaks off leaves nothing behind. Where
    the look costs more than the writing, it is `computing`."""
    lane = threads.cpu if computing else threads.io
    draft = await threads.io(blobs.draft)
    intake = Intake(draft, look)
    try:
        async for gathered in _gathered(pieces):
            await lane(intake.write, gathered)
        return await threads.io(intake.keep)
    finally:
        # Whoever gave up must not leave a file behind.
        with CancelScope(shield=True):
            await threads.io(draft.drop)


async def _gathered(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    buffer = bytearray()
    async for piece in pieces:
        buffer += piece
        if len(buffer) >= AT_ONCE:
            yield bytes(buffer)
            buffer.clear()
    if buffer:
        yield bytes(buffer)
