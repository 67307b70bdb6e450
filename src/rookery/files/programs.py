"""Programs that people upload: known by the SHA-256 of their bytes, played as they are."""

import hashlib
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from anyio import CancelScope

from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.db.fence import Fence
from rookery.db.pool import Pool, Queries
from rookery.files.quotas import QuotaExceeded, Upload
from rookery.files.store import Blobs, Draft
from rookery.model.engine import is_program

# Uploads: bytes that come in pieces, written down and digested in threads as they come.

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


class EmptyUpload(Exception):
    """There is nothing in this upload."""


class NotAProgram(Exception):
    """This file is no program: no system could execute it."""


class ProgramLook(NoLook):
    """Refuses what does not begin as a program does."""

    def __init__(self) -> None:
        self._seen = False

    def feed(self, data: bytes) -> bytes:
        if not self._seen and not is_program(data):
            raise NotAProgram
        self._seen = True
        return data


@dataclass(frozen=True, slots=True)
class Binary:
    """A program; `name` is what its file was called, for people to read."""

    sha256: str
    blob: str
    size: int
    name: str
    user: str
    created: datetime


class Binaries(Protocol):
    """The rows. Any process may write them."""

    async def by_hash(self, sha256: str) -> Binary | None: ...

    async def add(self, binary: Binary, *, limit: int | None = None) -> Binary:
        """The one that is kept: where the same bytes were there before, that. Raises QuotaExceeded
        where its giver has more than so many bytes then."""
        ...

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        """Those of the blobs that a row names."""
        ...


class BinaryStore:
    """Takes programs in; the same bytes are kept once, whoever sends them."""

    def __init__(
        self,
        rows: Binaries,
        blobs: Blobs,
        threads: Threads,
        clock: Clock,
        *,
        limit: int | None = None,
    ) -> None:
        """Everybody may keep `limit` bytes, unless something else is said of them."""
        self.rows = rows
        self.blobs = blobs
        self._threads = threads
        self._clock = clock
        self._limit = limit

    async def take(self, pieces: AsyncIterator[bytes], name: str, user: str) -> Binary:
        """Raises EmptyUpload, NotAProgram or QuotaExceeded."""
        found, _ = await received(pieces, self.blobs, self._threads, ProgramLook())
        new = Binary(found.sha256, found.blob, found.size, name, user, self._clock.now())
        try:
            kept = await self._added(new)
        except (EmptyUpload, QuotaExceeded):
            await self._threads.io(self.blobs.remove, new.blob)
            raise
        if kept.blob != new.blob:
            await self._threads.io(self.blobs.remove, new.blob)
        return kept

    async def _added(self, new: Binary) -> Binary:
        if not new.size:
            raise EmptyUpload
        return await self.rows.add(new, limit=self._limit)


# Uploaded programs in PostgreSQL, and their twin in memory. Any process may write them.


class PostgresBinaries:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def by_hash(self, sha256: str) -> Binary | None:
        row = await self._pool.fetchrow(self._queries["binaries_by_hash"], sha256)
        return None if row is None else Binary(**row)

    async def add(self, binary: Binary, *, limit: int | None = None) -> Binary:
        b, upload = binary, Upload(binary.user, binary.size, limit)
        columns = (b.sha256, b.blob, b.size, b.name, b.user, b.created)
        async with self._fence.write() as connection:
            await upload.begin(connection, self._queries)
            row = await connection.fetchrow(self._queries["binaries_add"], *columns)
            assert row is not None
            if row["blob"] == b.blob:
                await upload.check(connection, self._queries)
        return Binary(**row)

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        rows = await self._pool.fetch(self._queries["binaries_known"], list(keys))
        return frozenset(row["blob"] for row in rows)
