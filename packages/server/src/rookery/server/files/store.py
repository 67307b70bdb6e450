"""The store of all kinds of files: bytes in blobs, rows that refer to them, quotas, and the sweep.

Order of writes. A blob is complete on disk before its row is written, and a row is removed before
its blob. A crash in between leaves a blob without a row, which the sweep removes when it is a day
old; there is never a row without its blob. While a backup copies blobs, none is removed.

Each kind of file (nets, books, programs, games, logs) derives its rows and its store from these
classes and adds its names, the checks of its bytes, and how long it is stored.
"""

import hashlib
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from anyio import CancelScope

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.errors import BadInput, Complaint, NotThere, TooLarge
from rookery.core.model.run import RunFault
from rookery.server.boundary.domains import Domain, runs
from rookery.server.db.pool import Pool, Queries
from rookery.server.db.table import Table, Transaction, columns
from rookery.server.disk import StorageAway
from rookery.server.files.blobs import Blobs, Draft

MB = 10**6
GATHERED_BYTES = 2**20
"""Pieces of an upload are joined up to this size, so that fewer calls into threads are needed."""
ROWS_AT_A_TIME = 200
ORPHAN_SECONDS = 86_400.0
"""The age from which a blob without a row counts as left over from a crash."""


class FileRefused(BadInput, Complaint):
    """An upload is not what it should be; the text says why."""

    exit_code = 2


class UnknownFile(NotThere, RunFault):
    """there is no {kind} {name}"""


FILE_IN_USE = "{kind} {name} is needed by a run that is not finished"


NOT_YOUR_FILE = "only the user who uploaded the {kind}, or an approver, may do this"


class QuotaExceeded(TooLarge, Complaint):
    """An upload exceeds its user's quota."""

    def __init__(self, *, used: int, allowed: int, size: int) -> None:
        super().__init__(
            f"This takes {_mb(size)} MB, but {_mb(used)} MB of your {_mb(allowed)} MB for nets,"
            " programs and books are in use. An administrator can allow more."
        )


def _mb(size: int) -> str:
    return f"{size / MB:,.1f}".removesuffix(".0")


# Uploads: bytes that arrive in pieces, and are written and hashed in threads as they arrive.


class ContentReader(Protocol):
    """Checks and converts an upload piece by piece, in any thread; raises FileRefused."""

    def feed(self, data: bytes) -> bytes:
        """Return the bytes to store for this piece."""
        ...

    def finish(self) -> bytes:
        """Return the bytes to store after the last piece."""
        ...


@dataclass(frozen=True, slots=True)
class Received:
    """A completed upload; `sha256` and `size` are those of the uploaded bytes."""

    blob: str
    sha256: str
    size: int


class _Receiving:
    """An upload in progress; several threads write it, one after the other."""

    def __init__(self, draft: Draft, reader: ContentReader) -> None:
        self._draft = draft
        self._reader = reader
        self._digest = hashlib.sha256()
        self._size = 0

    def read(self, data: bytes) -> bytes:
        """Return the bytes to write for this piece."""
        self._digest.update(data)
        self._size += len(data)
        return self._reader.feed(data)

    def write(self, data: bytes) -> None:
        self._draft.write(self.read(data))

    def keep(self) -> Received:
        """Complete the blob; raise FileRefused if the reader refuses the whole upload."""
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
    """Write an upload into a blob; an interrupted or refused one leaves nothing behind. `computing`
    runs the reader in the threads for computation."""
    async with open_draft(blobs, threads) as draft:
        receiving = await write_pieces(pieces, draft, threads, reader, computing=computing)
        return await threads.files(receiving.keep)


@asynccontextmanager
async def open_draft(blobs: Blobs, threads: Threads) -> AsyncIterator[Draft]:
    """Yield a draft that is dropped at the end of the block, unless it was kept."""
    draft = await threads.files(blobs.draft)
    try:
        yield draft
    finally:
        # A cancelled upload must not leave a file behind.
        with CancelScope(shield=True):
            await threads.files(draft.drop)


async def write_pieces(
    pieces: AsyncIterator[bytes],
    draft: Draft,
    threads: Threads,
    reader: ContentReader,
    *,
    computing: bool = False,
) -> _Receiving:
    """Write an upload into a draft as it arrives."""
    receiving = _Receiving(draft, reader)
    async for gathered in _gather(pieces):
        if computing:
            await threads.files(draft.write, await threads.cpu(receiving.read, gathered))
        else:
            await threads.files(receiving.write, gathered)
    return receiving


async def _gather(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    buffer = bytearray()
    async for piece in pieces:
        buffer += piece
        if len(buffer) >= GATHERED_BYTES:
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
    """The row of a file that a user uploaded; its first field is its key."""

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

    async def find_known(self, blobs: Collection[str]) -> frozenset[str]:
        """Those of the blobs that have a row."""
        return frozenset(await self._column(f"{self.name}_known", list(blobs)))

    async def forget(self, blobs: Collection[str]) -> bool:
        """Remove the rows of these blobs; return whether the blobs may be removed now. While a
        backup copies files they may not, and the sweep removes them later."""
        async with self._writing() as write:
            await write(f"{self.name}_forget", list(blobs))
            return bool(await write("files_may_go"))

    async def may_remove_files(self) -> bool:
        """Whether blobs without a row may be removed: a running backup may contain a row for
        them."""
        return bool(await self._write("files_may_go"))


class UserFileRows(FileRows[U]):
    """The rows of a kind that users upload and that counts towards their quota."""

    async def add(self, file: U, *, limit: int | None = None, engine: str = "") -> U:
        """Add a file and return the stored row, which is an older one if that has the same key.
        Raise QuotaExceeded if the user would exceed `limit` bytes or their own quota; without a
        limit nothing is counted. The same commit says of which engine a new file is, so that a file
        of a private engine is never visible to everybody."""
        row = columns(file)  # type: ignore[arg-type]
        async with self._writing() as write:
            await lock_quota(write, file.user, limit)
            kept = await write.one(self.kind, f"{self.name}_add", *row)
            assert kept is not None
            if kept.blob == file.blob:
                await check_quota(write, file, limit)
                if engine:
                    await write("file_engines_add", row[0], engine)
                    await write("engines_changed", engine)
        return kept

    async def list_all(self) -> tuple[U, ...]:
        return await self._many(self.kind, f"{self.name}_all")


class HasSize(Protocol):
    """A row that counts towards a user's quota."""

    @property
    def user(self) -> str: ...

    @property
    def size(self) -> int: ...


async def lock_quota(write: Transaction, user: str, limit: int | None) -> None:
    """Lock the user's row, so that uploads of one user are counted one after the other. To be
    called first in the transaction that writes an upload's row."""
    if limit is not None:
        await write("uploads_hold", user)


async def check_quota(write: Transaction, new: HasSize, limit: int | None) -> None:
    """Raise QuotaExceeded, which rolls back the transaction that has written the row of `new`."""
    if limit is None:
        return
    found = await write.one(dict[str, int], "uploads_of", new.user, limit)
    assert found is not None
    used, allowed = found["used"], found["allowed"]
    if used > allowed:
        raise QuotaExceeded(used=used - new.size, allowed=allowed, size=new.size)


async def load_usage(pool: Pool, queries: Queries) -> Mapping[str, int]:
    """Return the bytes that each user has stored, by user name."""
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
        """Remove blobs that have no row; the sweep removes those that can't be reached now."""
        with suppress(StorageAway):
            await self._threads.files(_remove_blobs, self.blobs, blobs)

    async def _find_expired(self) -> Collection[StoredFile]:
        """Return a batch of expired files; empty when there are none left."""
        return ()

    @runs(Domain.THREAD, "files are listed and removed in threads, rows are awaited")
    async def sweep(self) -> None:
        """Remove expired files, and old blobs without a row."""
        while expired := [file.blob for file in await self._find_expired()]:
            if await self.rows.forget(expired):
                await self.discard(*expired)
        old = await self._threads.files(_list_old, self.blobs)
        for start in range(0, len(old), ROWS_AT_A_TIME):
            part = old[start : start + ROWS_AT_A_TIME]
            named = await self.rows.find_known(part)
            if await self.rows.may_remove_files():
                await self.discard(*(key for key in part if key not in named))


class UserFileStore(FileStore[UR]):
    """Files that users upload. Each user may store `limit` bytes of all kinds together, unless the
    account has a quota of its own."""

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
        self.limit = limit

    async def _add(self, new: U, engine: str = "") -> U:
        """Add a file and return the stored row; if that is an older one with the same key, the new
        blob is removed. Raise QuotaExceeded."""
        try:
            kept: U = await self.rows.add(new, limit=self.limit, engine=engine)
        except QuotaExceeded:
            await self.discard(new.blob)
            raise
        if kept.blob != new.blob:
            await self.discard(new.blob)
        return kept

    async def _remove(self, file: StoredFile) -> None:
        if await self.rows.forget([file.blob]):
            await self.discard(file.blob)


def _list_old(blobs: Blobs) -> list[str]:
    return [found.key for found in blobs.list_all(older_than_seconds=ORPHAN_SECONDS)]


def _remove_blobs(blobs: Blobs, keys: Collection[str]) -> None:
    for key in keys:
        blobs.remove(key)
