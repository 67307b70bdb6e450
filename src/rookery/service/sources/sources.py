"""All that engines and openings are fetched from, as one value."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from rookery.boundary.offload import Threads
from rookery.service.blobs import Blobs
from rookery.service.sources.archives import Archives
from rookery.service.sources.binaries import Binaries, BinaryStore
from rookery.service.sources.books import Books, BookStore
from rookery.service.sources.commits import Commits

AT_A_TIME = 200
ORPHAN_SECONDS = 86_400.0
"""A file this old without a row will not get one any more."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """The rows of what people upload, and where the bytes lie."""

    binaries: Binaries
    binary_files: Blobs
    books: Books
    book_files: Blobs


@dataclass(frozen=True, slots=True)
class Sources:
    """One per app."""

    shelf: Shelf
    binaries: BinaryStore
    books: BookStore
    commits: Commits
    archives: Archives
    threads: Threads

    async def clean_up(self) -> None:
        """Removes files that no row ever came to name, and archives that nobody asks for."""
        shelf = self.shelf
        await _sweep(shelf.binaries, shelf.binary_files, self.threads)
        await _sweep(shelf.books, shelf.book_files, self.threads)
        await self.archives.clean_up()


class _Rows(Protocol):
    async def known(self, keys: Collection[str]) -> frozenset[str]: ...


async def _sweep(rows: _Rows, blobs: Blobs, threads: Threads) -> None:
    old = await threads.io(lambda: list(blobs.older_than(ORPHAN_SECONDS)))
    for start in range(0, len(old), AT_A_TIME):
        part = old[start : start + AT_A_TIME]
        orphans = frozenset(part) - await rows.known(part)
        await threads.io(_remove_all, blobs, orphans)


def _remove_all(blobs: Blobs, keys: Collection[str]) -> None:
    for key in keys:
        blobs.remove(key)
