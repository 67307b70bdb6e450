"""Compares the stored files with the rows that name them: whether they exist, their sizes, and on
demand what they hold."""

import gzip
import zlib
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from dataclasses import dataclass

from rookery.core.boundary.offload import Threads
from rookery.server.db.pool import Pool, Queries
from rookery.server.files.blobs import Blobs, UnknownBlob
from rookery.server.files.copying import TABLES, NamedFile, digest_stream, list_named, list_sizes
from rookery.server.files.places import FilePlace

PACKED = "nets"
"""The kind of file that is stored compressed, while its name has the digest of its content."""


@dataclass(frozen=True, slots=True)
class CheckedKind:
    """The files of one kind, compared with the rows that name them."""

    kind: str
    named: int
    bytes: int
    missing: tuple[str, ...]
    """Files that a row names but that do not exist."""
    damaged: tuple[str, ...]
    """Files that are not as their row says."""
    orphans: tuple[str, ...]
    """Old files that no row names; the sweep removes them."""


class FileCheck:
    """Compares rows and stored files: whether they exist, their sizes, and with `contents` the
    digests of what they hold."""

    def __init__(
        self,
        pool: Pool,
        queries: Queries,
        place: FilePlace,
        threads: Threads,
        *,
        contents: bool = False,
    ) -> None:
        self._pool = pool
        self._queries = queries
        self._place = place
        self._threads = threads
        self._contents = contents

    async def check(self, orphan_seconds: float) -> AsyncIterator[CheckedKind]:
        """Check kind by kind. Rows are read first: a file is stored before its row, so files that
        arrive in the meantime never look missing."""
        for kind in TABLES:
            blobs = self._place.blobs(kind)
            pages = list_named(self._pool, self._queries, kind)
            named = {file.key: file async for page in pages for file in page}
            sizes = await self._threads.files(list_sizes, blobs)
            missing = await self._still_missing(kind, named.keys() - sizes.keys(), blobs)
            damaged = await self._find_damaged(kind, named.values(), sizes)
            old = await self._threads.files(_list_old, blobs, orphan_seconds)
            yield CheckedKind(
                kind,
                len(named),
                sum(sizes.values()),
                missing,
                damaged,
                tuple(sorted(old - named.keys())),
            )

    async def _find_damaged(
        self, kind: str, files: Iterable[NamedFile], sizes: Mapping[str, int]
    ) -> tuple[str, ...]:
        there = [file for file in files if file.key in sizes]
        wrong = [file.key for file in there if sizes[file.key] != file.size]
        if self._contents:
            whole = [file for file in there if sizes[file.key] == file.size and file.digest]
            wrong += [file.key for file in whole if not await self._has_content(kind, file)]
        return tuple(sorted(wrong))

    async def _has_content(self, kind: str, file: NamedFile) -> bool:
        blobs, packed = self._place.blobs(kind), kind == PACKED
        try:
            return await self._threads.files(has_digest, blobs, file, packed=packed)
        except UnknownBlob:
            return True  # it was removed meanwhile, with its row

    async def _still_missing(
        self, kind: str, keys: Collection[str], blobs: Blobs
    ) -> tuple[str, ...]:
        """Those of the files that are still named and missing when checked again, one by one."""
        if not keys:
            return ()
        rows = await self._pool.fetch(self._queries[f"{TABLES[kind]}_known"], list(keys))
        missing = [
            row["blob"] for row in rows if not await self._threads.files(blobs.has, row["blob"])
        ]
        return tuple(sorted(missing))


def has_digest(blobs: Blobs, file: NamedFile, *, packed: bool) -> bool:
    """Whether a file holds what its row says; blocks."""
    try:
        with blobs.open(file.key) as stored:
            content = gzip.GzipFile(fileobj=stored) if packed else stored
            return digest_stream(content, file.key).sha256.startswith(file.digest)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        return False


def _list_old(blobs: Blobs, seconds: float) -> set[str]:
    return {found.key for found in blobs.list_all(older_than_seconds=seconds)}
