"""Opening books: those that people upload, and the one that comes with the package."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from rookery import books
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.core.faults import NotYours, RunFault
from rookery.core.lifecycle import Actor
from rookery.core.run import Run
from rookery.service.blobs import Blobs
from rookery.service.quotas import QuotaExceeded
from rookery.service.sources.book_reading import BookReading, BookRefused
from rookery.service.sources.uploads import received

NAME = re.compile(
    r"(?:[A-Za-z0-9][A-Za-z0-9_-]{1,49}~)?[A-Za-z0-9][A-Za-z0-9_.+-]{0,150}\.(?:epd|pgn)", re.ASCII
)
"""Names that begin with a team's name and `~` are for that team alone."""
OURS = "rookery"
"""Who gives the books that come with the package."""


class UnknownBook(RunFault):
    """there is no book {name}"""


class BookTaken(RunFault):
    """there is another book {name} already; remove it first, or choose another name"""


class BookInUse(RunFault):
    """book {name} is used by a run that is not finished"""


@dataclass(frozen=True, slots=True)
class Book:
    """A book that is kept; without a blob it comes with the package."""

    name: str
    blob: str
    size: int
    sha256: str
    sri: str
    openings: int
    user: str
    created: datetime


class Books(Protocol):
    """The rows. Any process may write them."""

    async def by_name(self, name: str) -> Book | None: ...

    async def add(self, book: Book, *, limit: int | None = None) -> Book:
        """The one that is kept: where there was one of that name, that. Raises QuotaExceeded where
        its giver has more than so many bytes then."""
        ...

    async def remove(self, name: str) -> None: ...

    async def everything(self) -> tuple[Book, ...]:
        """By name."""
        ...

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        """Those of the blobs that a row names."""
        ...


ActiveRuns = Callable[[], Awaitable[tuple[Run, ...]]]


class BookStore:
    """Takes books in, gives them out. A name means the same text for as long as it is kept: runs
    count on it, so that nothing is ever replaced in place."""

    def __init__(
        self,
        rows: Books,
        blobs: Blobs,
        threads: Threads,
        clock: Clock,
        active: ActiveRuns,
        *,
        limit: int | None = None,
    ) -> None:
        """Everybody may keep `limit` bytes, unless something else is said of them."""
        self.blobs = blobs
        self._rows = rows
        self._threads = threads
        self._clock = clock
        self._active = active
        self._limit = limit
        self._shipped: dict[str, Book] = {}
        self._reading = asyncio.Lock()

    async def take(self, pieces: AsyncIterator[bytes], name: str, user: str) -> Book:
        """Raises BookRefused, BookTaken or QuotaExceeded; the same book again is no fault."""
        check_name(name)
        if name in await self.shipped():
            raise BookTaken(name=name)
        reading = BookReading(name)
        found, text = await received(pieces, self.blobs, self._threads, reading)
        book = Book(
            name,
            found.blob,
            found.size,
            found.sha256,
            text.sri,
            text.openings,
            user,
            self._clock.now(),
        )
        try:
            kept = await self._rows.add(book, limit=self._limit)
        except QuotaExceeded:
            await self._threads.io(self.blobs.remove, book.blob)
            raise
        if kept.blob != book.blob:
            await self._threads.io(self.blobs.remove, book.blob)
        if kept.sha256 != book.sha256:
            raise BookTaken(name=name)
        return kept

    async def by_name(self, name: str) -> Book | None:
        return (await self.shipped()).get(name) or await self._rows.by_name(name)

    async def everything(self) -> tuple[Book, ...]:
        kept = (*(await self.shipped()).values(), *await self._rows.everything())
        return tuple(sorted(kept, key=lambda book: book.name))

    async def remove(self, name: str, actor: Actor) -> Book:
        """Raises UnknownBook, NotYours or BookInUse."""
        book = await self.by_name(name)
        if book is None:
            raise UnknownBook(name=name)
        if not book.blob or not (actor.approver or actor.name == book.user):
            raise NotYours
        for run in await self._active():
            if run.plan.book.name == name:
                raise BookInUse(name=name)
        await self._rows.remove(name)
        await self._threads.io(self.blobs.remove, book.blob)
        return book

    def path(self, book: Book) -> Path:
        """Where the file lies; looks at the disk, and raises UnknownBlob."""
        return self.blobs.path(book.blob) if book.blob else books.demo_path()

    async def shipped(self) -> dict[str, Book]:
        """What comes with the package, read once."""
        async with self._reading:
            if not self._shipped:
                self._shipped = await self._threads.io(_shipped)
        return self._shipped


def check_name(name: str) -> None:
    if NAME.fullmatch(name) is None:
        raise BookRefused("A book's name is a file name that ends in .epd or .pgn.")


def _shipped() -> dict[str, Book]:
    # Read here as well, because nobody may read a file on the loop.
    books.official_books()
    data, reading = books.demo_path().read_bytes(), BookReading(books.DEMO)
    reading.feed(data)
    text, sha256 = reading.finish(), hashlib.sha256(data).hexdigest()
    created = datetime(2026, 1, 1, tzinfo=UTC)
    book = Book(books.DEMO, "", len(data), sha256, text.sri, text.openings, OURS, created)
    return {book.name: book}
