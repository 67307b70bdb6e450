"""Opening books: kept in the cache, checked by their hash, fetched where they are missing."""

from pathlib import Path, PurePath

from msgspec import UNSET, UnsetType

from rookery.boundary.offload import Threads
from rookery.worker.openings import Book, BookFault
from rookery.worker.session.downloads import ServerDownloads
from rookery.worker.session.faults import Refused, TaskFailed, Unreachable


class Books:
    """The books of one worker."""

    def __init__(self, folder: Path, downloads: ServerDownloads, threads: Threads) -> None:
        self._folder = folder
        self._downloads = downloads
        self._threads = threads
        self._fetched: set[str] = set()

    def file(self, name: str) -> Path:
        return self._folder / name

    async def load(self, name: str, sri: str | UnsetType, depth: int) -> Book | None:
        """The book; None where games begin from the starting position. Raises TaskFailed."""
        if PurePath(name).name != name:
            raise TaskFailed(f"{name!r} is no name of a book.", blame="run")
        if depth <= 0:
            return None
        file = self.file(name)
        book = await self._threads.io(_read, file, 2 * depth)
        if book is None or not await self._is_right(book, sri):
            await self._fetch(name, file)
            book = await self._threads.io(_read, file, 2 * depth)
        if book is None or not await self._is_right(book, sri):
            raise TaskFailed(f"The book {name} is not the one that the run means.")
        return book

    async def _is_right(self, book: Book, sri: str | UnsetType) -> bool:
        """Without a hash only a book that was fetched by this very worker is trusted."""
        if sri is UNSET or not sri:
            return book.name in self._fetched
        return await self._threads.cpu(lambda: book.sri) == sri

    async def _fetch(self, name: str, file: Path) -> None:
        try:
            await self._downloads.book(name, file)
        except (Refused, Unreachable, OSError) as error:
            raise TaskFailed(f"The book {name} can't be had: {error}.") from None
        self._fetched.add(name)


def _read(file: Path, plies: int) -> Book | None:
    try:
        return Book.load(file, plies=plies)
    except BookFault:
        return None
