"""All that engines and openings are fetched from, as one value."""

from dataclasses import dataclass

from rookery.boundary.offload import Threads
from rookery.service.blobs import Blobs
from rookery.service.orphans import swept
from rookery.service.sources.archives import Archives
from rookery.service.sources.binaries import Binaries, BinaryStore
from rookery.service.sources.books import Books, BookStore
from rookery.service.sources.commits import Commits


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
        await swept(shelf.binary_files, shelf.binaries, self.threads)
        await swept(shelf.book_files, shelf.books, self.threads)
        await self.archives.clean_up()
