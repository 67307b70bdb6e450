"""The one store of files: bytes in blobs, rows that name them, quotas, and the sweep.

Order of writes. A blob is whole on the disk before its row is written, and a row is removed before
its blob. Whoever dies in between leaves a blob without a row, which the sweep removes once it is a
day old; a row without its blob does not come to be.

A kind of file (nets, books, programs, games, logs) derives its rows and its store from these, and
says what is peculiar to it: names, what its bytes must be, how long it is kept.
"""

import hashlib
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from anyio import CancelScope

from rookery.boundary.domains import Domain, runs
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.db.pool import Pool, Queries
from rookery.db.table import Table, Transaction, columns
from rookery.errors import Complaint
from rookery.files.blobs import Blobs, Draft
from rookery.model.run import RunFault

MB = 10**6
AT_ONCE = 2**20
"""Pieces of an upload are gathered up to this size, so that a thread is asked seldom."""
ROWS_AT_A_TIME = 200
ORPHAN_SECONDS = 86_400.0
"""A blob this old without a row will not get one any more."""


class FileRefused(Complaint):
    """An upload is not what it should be; the text says why."""

    exit_code = 2


class UnknownFile(RunFault):
    """there is no {kind} {name}"""


class FileInUse(RunFault):
    """{kind} {name} is needed by a run that is not finished"""


class NotYourFile(RunFault):
    """only who gave the {kind} or an approver may do this"""


class QuotaExceeded(Complaint):
    """What is given does not fit into what its user may keep here."""

    def __init__(self, *, used: int, allowed: int, size: int) -> None:
        super().__init__(
            f"This takes {_mb(size)} MB, and of the {_mb(allowed)} MB of nets, programs and books"
            f" that you may keep here {_mb(used)} MB are taken. An administrator can allow more."
        )


def _mb(size: int) -> str:
    return f"{size / MB:,.1f}".removesuffix(".0")


# Uploads: bytes that come in pieces, written down and digested in threads as they come.


class ContentReader(Protocol):
    """Reads an upload along, piece by piece in whatever threads; may raise FileRefused."""

    def feed(self, data: bytes) -> bytes:
        """What is to be kept of these bytes."""
        ...

    def finish(self) -> bytes:
        """What is to be kept besides, once all has come."""
        ...


class AnyContent:
    """For bytes that may be anything."""

    def feed(self, data: bytes) -> bytes:
        return data

    def finish(self) -> bytes:
        return b""


@dataclass(frozen=True, slots=True)
class Received:
    """An upload that is safe on the disk; `sha256` and `size` are those of the bytes that came."""

    blob: str
    sha256: str
    size: int


class _Receiving:
    """One upload; several threads write it, one after the other."""

    def __init__(self, draft: Draft, reader: ContentReader) -> None:
        self._draft = draft
        self._reader = reader
        self._digest = hashlib.sha256()
        self._size = 0

    def write(self, data: bytes) -> None:
        self._digest.update(data)
        self._size += len(data)
        self._draft.write(self._reader.feed(data))

    def keep(self) -> Received:
        """Nothing is kept that the reader refuses."""
        self._draft.write(self._reader.finish())
        return Received(self._draft.keep(), self._digest.hexdigest(), self._size)


async def receive(
    pieces: AsyncIterator[bytes],
    blobs: Blobs,
    threads: Threads,
    reader: ContentReader,
    *,
    computing: bool = False,
) -> Received:
    """Writes an upload into a blob; one that breaks off or is refused leaves nothing behind. Where
    reading costs more than writing, it is `computing`."""
    run = threads.cpu if computing else threads.io
    draft = await threads.io(blobs.draft)
    receiving = _Receiving(draft, reader)
    try:
        async for gathered in _gathered(pieces):
            await run(receiving.write, gathered)
        return await threads.io(receiving.keep)
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


# Rows of files. The queries of a kind are named after it: `nets_get`, `nets_add` and so on.


class StoredFile(Protocol):
    """The row of a file."""

    @property
    def blob(self) -> str: ...

    @property
    def size(self) -> int: ...


class UserFile(StoredFile, Protocol):
    """The row of a file that somebody has uploaded; its first field is its key."""

    @property
    def user(self) -> str: ...


F = TypeVar("F", bound=StoredFile)
U = TypeVar("U", bound=UserFile)


class FileRows(Table, Generic[F]):
    """The rows of one kind of file."""

    name: str
    kind: type[F]

    async def get(self, key: object) -> F | None:
        return await self._one(self.kind, f"{self.name}_get", key)

    async def known(self, blobs: Collection[str]) -> frozenset[str]:
        """Those of the blobs that a row names."""
        return frozenset(await self._column(f"{self.name}_known", list(blobs)))

    async def forget(self, blobs: Collection[str]) -> None:
        """Removes the rows of these blobs."""
        await self._write(f"{self.name}_forget", list(blobs))


class UserFileRows(FileRows[U]):
    """The rows of a kind that users upload and that counts for their quota."""

    async def add(self, file: U, *, limit: int | None = None) -> U:
        """Gives the row that is kept: the older one, where there was one of that key. Raises
        QuotaExceeded where its user would have more than so many bytes, or than they are allowed
        by name; without a limit nothing is counted."""
        row = columns(file)  # type: ignore[arg-type]
        async with self._writing() as write:
            await hold_quota(write, file.user, limit)
            kept = await write.one(self.kind, f"{self.name}_add", *row)
            assert kept is not None
            if kept.blob == file.blob:
                await check_quota(write, file, limit)
        return kept

    async def everything(self) -> tuple[U, ...]:
        return await self._many(self.kind, f"{self.name}_all")


class HasSize(Protocol):
    """Something that counts for a user's quota."""

    @property
    def user(self) -> str: ...

    @property
    def size(self) -> int: ...


async def hold_quota(write: Transaction, user: str, limit: int | None) -> None:
    """Has a user's uploads written one after the other, so that each is counted before the next;
    comes first in the transaction that writes an upload's row."""
    if limit is not None:
        await write("uploads_hold", user)


async def check_quota(write: Transaction, new: HasSize, limit: int | None) -> None:
    """Raises QuotaExceeded, which undoes the transaction that has written the row of `new`."""
    if limit is None:
        return
    found = await write.one(dict[str, int], "uploads_of", new.user, limit)
    assert found is not None
    used, allowed = found["used"], found["allowed"]
    if used > allowed:
        raise QuotaExceeded(used=used - new.size, allowed=allowed, size=new.size)


async def used_by_user(pool: Pool, queries: Queries) -> Mapping[str, int]:
    """Bytes that users keep here, by their names."""
    rows = await pool.fetch(queries["uploads_by_user"])
    return {row["user_name"]: row["used"] for row in rows}


R = TypeVar("R", bound=FileRows[Any])
UR = TypeVar("UR", bound=UserFileRows[Any])


class FileStore(Generic[R]):
    """Files of one kind: their rows and their bytes. One per process."""

    def __init__(self, rows: R, blobs: Blobs, threads: Threads, clock: Clock) -> None:
        self.rows = rows
        self.blobs = blobs
        self._threads = threads
        self._clock = clock

    async def discard(self, *blobs: str) -> None:
        """Removes blobs whose rows are gone or never came to be."""
        await self._threads.io(_remove, self.blobs, blobs)

    async def _expired(self) -> Collection[StoredFile]:
        """Some of the files that were kept for long enough, until there are none left."""
        return ()

    @runs(Domain.THREAD, "files are listed and removed in threads, rows are awaited")
    async def sweep(self) -> None:
        """Removes files that were kept long enough, and blobs that no row ever came to name."""
        while expired := [file.blob for file in await self._expired()]:
            await self.rows.forget(expired)
            await self.discard(*expired)
        old = await self._threads.io(lambda: list(self.blobs.older_than(ORPHAN_SECONDS)))
        for start in range(0, len(old), ROWS_AT_A_TIME):
            part = old[start : start + ROWS_AT_A_TIME]
            named = await self.rows.known(part)
            await self.discard(*(key for key in part if key not in named))


class UserFileStore(FileStore[UR]):
    """The same for what users upload; everybody may keep `limit` bytes of all kinds together,
    unless something else is said of them."""

    def __init__(
        self,
        rows: UR,
        blobs: Blobs,
        threads: Threads,
        clock: Clock,
        *,
        limit: int | None = None,
    ) -> None:
        super().__init__(rows, blobs, threads, clock)
        self._limit = limit

    async def _add(self, new: U) -> U:
        """Gives the row that is kept, which may be an older one of the same key; the new blob is
        removed then. Raises QuotaExceeded."""
        try:
            kept: U = await self.rows.add(new, limit=self._limit)
        except QuotaExceeded:
            await self.discard(new.blob)
            raise
        if kept.blob != new.blob:
            await self.discard(new.blob)
        return kept

    async def _remove(self, file: StoredFile) -> None:
        await self.rows.forget([file.blob])
        await self.discard(file.blob)


def _remove(blobs: Blobs, keys: Collection[str]) -> None:
    for key in keys:
        blobs.remove(key)
