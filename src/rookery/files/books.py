"""Opening books: those that people upload, and the one that comes with the package."""

import asyncio
import base64
import codecs
import hashlib
import io
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from rookery import books
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.db.fence import Fence
from rookery.db.pool import Pool, Queries
from rookery.errors import Complaint
from rookery.files.programs import received
from rookery.files.quotas import QuotaExceeded, Upload
from rookery.files.store import Blobs
from rookery.model.plan import BOOK_NAME
from rookery.model.run import NotYours, Run, RunFault
from rookery.rules.lifecycle import Actor

# A book as it comes in: how many openings it has, its hash, and whether it is a book at all.
#
# Every line is counted. The rules of chess are asked about some of them only, spread over the
# whole, because a book may have millions.

CLOSELY = 200
"""So many positions from the start are set up, and after that one of each thousand."""
SPARSELY = 1000
GAME_HEAD = 100_000
"""So many characters of a book of games are played through."""
LONGEST_LINE = 10_000
_GAME = re.compile(r'^\[Event "', re.MULTILINE)


class BookRefused(Complaint):
    """A book can't be taken."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class BookText:
    """What is known of a book's text; `sri` is the hash by which official workers check it."""

    openings: int
    sri: str


def is_960(name: str) -> bool:
    return "FRC" in name.upper() or "960" in name


@dataclass(slots=True)
class BookReading:
    """Fed with pieces one after the other, in whatever threads; keeps a line at the most."""

    name: str
    _openings: int = 0
    _rest: str = ""
    _head: str = ""
    _digest: "hashlib._Hash" = field(default_factory=hashlib.sha384)
    _decoder: io.IncrementalNewlineDecoder = field(
        default_factory=lambda: io.IncrementalNewlineDecoder(
            codecs.getincrementaldecoder("utf-8")(), translate=True
        )
    )

    def feed(self, data: bytes) -> bytes:
        """Raises BookRefused."""
        self._take(data, last=False)
        return data

    def rest(self) -> bytes:
        return b""

    def finish(self) -> BookText:
        """Raises BookRefused."""
        self._take(b"", last=True)
        self._count(self._rest)
        if not self._openings:
            raise BookRefused("There is no opening in this book.")
        if self.name.endswith(".pgn"):
            _check_games(self._head, self.name)
        return BookText(self._openings, base64.b64encode(self._digest.digest()).decode())

    def _take(self, data: bytes, *, last: bool) -> None:
        try:
            text = self._decoder.decode(data, last)
        except UnicodeDecodeError:
            raise BookRefused("A book is UTF-8 text; this is not.") from None
        self._digest.update(text.encode())
        self._head += text[: max(0, GAME_HEAD - len(self._head))]
        lines = (self._rest + text).split("\n")
        self._rest = lines.pop()
        if max(map(len, (self._rest, *lines))) > LONGEST_LINE:
            raise BookRefused(f"A line is longer than {LONGEST_LINE:,} characters.")
        for line in lines:
            self._count(line)

    def _count(self, line: str) -> None:
        if self.name.endswith(".pgn"):
            self._openings += line.startswith('[Event "')
        elif line:
            self._openings += 1
            if self._openings <= CLOSELY or self._openings % SPARSELY == 0:
                _check_position(line, self._openings, self.name)


def _check_position(line: str, number: int, name: str) -> None:
    import chess

    fields = line.lstrip("\ufeff").split()[:4]
    try:
        board = chess.Board(" ".join([*fields, "0", "1"]), chess960=is_960(name))
        good = len(fields) == 4 and board.is_valid()
    except ValueError:
        good = False
    if not good:
        raise BookRefused(f"Opening {number} is no position: {line[:60]!r}.")


def _check_games(head: str, name: str) -> None:
    """The games that are whole within the first part of the text."""
    import chess.pgn

    marks = [found.start() for found in _GAME.finditer(head)]
    whole = head if len(head) < GAME_HEAD or len(marks) < 2 else head[: marks[-1]]
    text, number = io.StringIO(whole), 1

    class MainLine(chess.pgn.BaseVisitor[bool]):
        """Plays the moves and keeps nothing: a tree of variations may be as deep as a text long."""

        def begin_variation(self) -> chess.pgn.SkipType:
            return chess.pgn.SKIP

        def result(self) -> bool:
            return True

    try:
        while chess.pgn.read_game(text, Visitor=MainLine):
            number += 1
    except ValueError as error:
        raise BookRefused(f"Game {number} of {name} can't be played: {str(error)[:200]}.") from None


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
            if run.plan.book == name:
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
    if BOOK_NAME.fullmatch(name) is None:
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


# Opening books in PostgreSQL, and their twin in memory. Any process may write them.


class PostgresBooks:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def by_name(self, name: str) -> Book | None:
        row = await self._pool.fetchrow(self._queries["books_by_name"], name)
        return None if row is None else Book(**row)

    async def add(self, book: Book, *, limit: int | None = None) -> Book:
        columns = (book.name, book.blob, book.size, book.sha256, book.sri, book.openings)
        upload = Upload(book.user, book.size, limit)
        async with self._fence.write() as connection:
            await upload.begin(connection, self._queries)
            row = await connection.fetchrow(
                self._queries["books_add"], *columns, book.user, book.created
            )
            assert row is not None
            if row["blob"] == book.blob:
                await upload.check(connection, self._queries)
        return Book(**row)

    async def remove(self, name: str) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["books_remove"], name)

    async def everything(self) -> tuple[Book, ...]:
        return tuple(Book(**row) for row in await self._pool.fetch(self._queries["books_all"]))

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        rows = await self._pool.fetch(self._queries["books_known"], list(keys))
        return frozenset(row["blob"] for row in rows)
