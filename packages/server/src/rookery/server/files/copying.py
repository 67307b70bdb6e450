"""Copies files from one place to another, for moves and backups; each copy is read again and
compared.

A copy appears complete or not at all. An interrupted run can be repeated and continues where it
stopped: files that the target lists with the right size are not copied again.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from rookery.core.boundary.offload import Threads
from rookery.core.errors import Complaint
from rookery.server.db.connecting import OwnConnection
from rookery.server.db.pool import Pool, Queries
from rookery.server.disk import StorageAway
from rookery.server.files.blobs import Blobs, UnknownBlob
from rookery.server.files.places import FilePlace

if TYPE_CHECKING:
    from _typeshed import SupportsRead

P = ParamSpec("P")
T = TypeVar("T")

PIECE = 2**20
AT_ONCE = 8
"""The number of files that are copied at the same time."""
ROWS_AT_A_TIME = 1000
TRIES = 60
PAUSE_SECONDS = 5.0
"""The pause between attempts while storage is away."""
TABLES: Mapping[str, str] = {
    "games": "pgns",
    "logs": "worker_logs",
    "nets": "nets",
    "books": "books",
    "binaries": "binaries",
    "documents": "ask_uploads",
}
"""For each kind of file, the first word of the queries of the rows that name its files."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file as its row describes it."""

    key: str
    size: int
    digest: str
    """The beginning of the SHA-256 of its content, unpacked for a net; empty where it is not
    known."""


@dataclass(frozen=True, slots=True)
class CopiedBlob:
    """A file that is in both places."""

    key: str
    size: int
    sha256: str


@dataclass(slots=True)
class CopyCounts:
    """Counts of what was done so far."""

    copied: int = 0
    copied_bytes: int = 0
    there: int = 0
    """Files that the target had already."""
    lost: list[str] = field(default_factory=list)
    """Files that rows name but that the source lacks, as kind/key."""


async def list_named(
    connection: "Pool | OwnConnection", queries: Queries, kind: str
) -> AsyncIterator[list[NamedFile]]:
    """All files that rows name, in pages."""
    query, after = queries[f"{TABLES[kind]}_blobs"], ""
    while rows := await connection.fetch(query, after, ROWS_AT_A_TIME):
        page = [NamedFile(**row) for row in rows]
        yield page
        after = page[-1].key


def copy_blob(source: Blobs, target: Blobs, key: str) -> CopiedBlob:
    """Copy one file and read the copy again; blocks. Raise UnknownBlob, StorageAway, or Complaint
    for a copy that differs, which is removed."""
    draft = target.draft(key)
    try:
        with source.open(key) as file:
            original = digest_stream(file, key, draft.write)
        draft.keep()
    finally:
        draft.drop()
    if digest_blob(target, key) != original:
        target.remove(key)
        raise Complaint(f"The copy of {key} differs from what was read; it was removed.")
    return original


def digest_blob(blobs: Blobs, key: str) -> CopiedBlob:
    """Return the size and digest of a file; blocks, and raises UnknownBlob or StorageAway."""
    with blobs.open(key) as file:
        return digest_stream(file, key)


def digest_stream(
    file: "SupportsRead[bytes]", key: str, write: Callable[[bytes], object] = len
) -> CopiedBlob:
    """Return the size and digest of what is left to read; blocks."""
    digest, size = hashlib.sha256(), 0
    while piece := file.read(PIECE):
        digest.update(piece)
        size += len(piece)
        write(piece)
    return CopiedBlob(key, size, digest.hexdigest())


def list_sizes(blobs: Blobs) -> dict[str, int]:
    """Return the size of each file by its key; blocks."""
    return {found.key: found.size for found in blobs.list_all()}


class Copier:
    """Copies files of one kind, some at a time, and waits for storage that is away."""

    def __init__(
        self,
        kind: str,
        source: FilePlace,
        target: FilePlace,
        threads: Threads,
        counts: CopyCounts,
        note: Callable[[CopyCounts], object],
    ) -> None:
        """`note` is called with the counts after each file."""
        self.kind = kind
        self._places = source, target
        self._source = source.blobs(kind)
        self._target = target.blobs(kind)
        self._threads = threads
        self._counts = counts
        self._note = note
        self._at_source: dict[str, int] = {}
        self._at_target: dict[str, int] = {}

    async def look(self) -> None:
        """List both places, to find files that need not be copied."""
        self._at_source = await self._try_for_long(list_sizes, self._source)
        self._at_target = await self._try_for_long(list_sizes, self._target)

    async def copy(self, keys: Iterable[str]) -> list[CopiedBlob]:
        """Copy those of the files that the target lacks or has in another size."""
        missing = [key for key in keys if not self._is_there(key)]
        copied: list[CopiedBlob] = []
        for start in range(0, len(missing), AT_ONCE):
            part = missing[start : start + AT_ONCE]
            done = await asyncio.gather(*(self._copy(key) for key in part))
            copied += [each for each in done if each is not None]
        return copied

    def _is_there(self, key: str) -> bool:
        size = self._at_target.get(key)
        if size is None or self._at_source.get(key, size) != size:
            return False
        self._counts.there += 1
        return True

    async def _copy(self, key: str) -> CopiedBlob | None:
        try:
            done = await self._try_for_long(copy_blob, self._source, self._target, key)
        except UnknownBlob:
            self._counts.lost.append(f"{self.kind}/{key}")
            return None
        self._at_target[key] = done.size
        self._counts.copied += 1
        self._counts.copied_bytes += done.size
        self._note(self._counts)
        return done

    async def _try_for_long(self, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `act` in a thread, repeatedly while a place is away; raise Complaint in the end."""
        for _ in range(TRIES):
            try:
                return await self._threads.files(act, *args, **kwargs)
            except StorageAway as error:
                reason = str(error)
                await asyncio.sleep(PAUSE_SECONDS)
                for place in self._places:
                    await place.health.probe()
        raise Complaint(f"The storage does not come back ({reason}); what is copied stays.")


async def move_files(
    pool: Pool,
    queries: Queries,
    source: FilePlace,
    target: FilePlace,
    threads: Threads,
    note: Callable[[CopyCounts], object],
) -> CopyCounts:
    """Copy every file that a row names, while servers keep running: repeat until there is nothing
    new."""
    counts = CopyCounts()
    before = -1
    while before != counts.copied:
        before, counts.there, counts.lost = counts.copied, 0, []
        for kind in TABLES:
            copier = Copier(kind, source, target, threads, counts, note)
            await copier.look()
            async for page in list_named(pool, queries, kind):
                await copier.copy(file.key for file in page)
                await forget_removed(pool, queries, kind, counts)
    return counts


async def forget_removed(pool: Pool, queries: Queries, kind: str, counts: CopyCounts) -> None:
    """Remove files from the lost ones whose rows are gone too: they were removed in the
    meantime."""
    gone = [name.partition("/")[2] for name in counts.lost if name.startswith(f"{kind}/")]
    if gone:
        found = await pool.fetch(queries[f"{TABLES[kind]}_known"], gone)
        named = {f"{kind}/{row['blob']}" for row in found}
        counts.lost = [
            name for name in counts.lost if name in named or not name.startswith(f"{kind}/")
        ]
