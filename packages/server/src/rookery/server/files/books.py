"""Stores opening books: those that people upload, and the one in the package."""

import asyncio
import base64
import codecs
import hashlib
import io
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO

from rookery.core import books
from rookery.core.books import OfficialBook
from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.plan import BOOK_NAME, is_book_of_chess960
from rookery.core.model.run import NotYours, Run, RunFault
from rookery.server.files.access import FileAccess
from rookery.server.files.blobs import Blobs
from rookery.server.files.store import (
    FILE_IN_USE,
    NOT_YOUR_FILE,
    FileRefused,
    UnknownFile,
    UserFileRows,
    UserFileStore,
    receive,
)

PACKAGE_USER = "rookery"
"""The user shown for the books in the package."""


BOOK_TAKEN = "there is another book {name} already; remove it first, or choose another name"


@dataclass(frozen=True, slots=True)
class StoredBook:
    """The row of a book; a book in the package has no blob. `sri` is the hash by which official
    workers check it."""

    name: str
    blob: str
    size: int
    sha256: str
    sri: str
    openings: int
    user: str
    created: datetime


class BookRows(UserFileRows[StoredBook]):
    """The rows of uploaded books, by name."""

    name = "books"
    kind = StoredBook


class BookStore(UserFileStore[BookRows]):
    """Stores books. Runs refer to a book by its name, so a stored book is never replaced."""

    def __init__(
        self,
        rows: BookRows,
        blobs: Blobs,
        threads: Threads,
        clock: Clock,
        *,
        limit: int | None = None,
    ) -> None:
        super().__init__(rows, blobs, threads, clock, limit=limit)
        self._shipped: dict[str, StoredBook] = {}
        self._official: Mapping[str, OfficialBook] = {}
        self._load_lock = asyncio.Lock()

    @property
    def official(self) -> Mapping[str, OfficialBook]:
        """The official books by name: as listed in their repository, or as known to the package
        until that was read."""
        return self._official or books.official_books()

    @official.setter
    def official(self, found: Mapping[str, OfficialBook]) -> None:
        self._official = found

    async def upload(
        self, pieces: AsyncIterator[bytes], name: str, user: str, engine: str = ""
    ) -> StoredBook:
        """Store a book; the same book again is no error. Raise FileRefused, RunFault or
        QuotaExceeded."""
        if BOOK_NAME.fullmatch(name) is None:
            raise FileRefused("A book's name is a file name that ends in .epd or .pgn.")
        if name in await self.load_shipped():
            raise RunFault(BOOK_TAKEN, name=name)
        reader = BookReader(name)
        found = await receive(pieces, self.blobs, self._threads, reader)
        hashes, now = (found.sha256, reader.sri), self._clock.now()
        new = StoredBook(name, found.blob, found.size, *hashes, reader.openings, user, now)
        kept = await self._add(new, engine)
        if kept.sha256 != new.sha256:
            raise RunFault(BOOK_TAKEN, name=name)
        return kept

    async def by_name(self, name: str) -> StoredBook | None:
        return (await self.load_shipped()).get(name) or await self.rows.get(name)

    async def list_all(self) -> tuple[StoredBook, ...]:
        kept = (*(await self.load_shipped()).values(), *await self.rows.list_all())
        return tuple(sorted(kept, key=lambda book: book.name))

    async def remove(self, name: str, actor: Actor, unfinished: Iterable[Run]) -> StoredBook:
        """Remove a book; raise UnknownFile, NotYours, or RunFault if it is in use."""
        book = await self.by_name(name)
        if book is None:
            raise UnknownFile(kind="book", name=name)
        if not book.blob or not (actor.approver or actor.name == book.user):
            raise NotYours(NOT_YOUR_FILE, kind="book")
        if any(run.plan.book == name for run in unfinished):
            raise RunFault(FILE_IN_USE, kind="book", name=name)
        await self._remove(book)
        return book

    def open(self, book: StoredBook, start: int = 0) -> BinaryIO:
        """Return a file with the text from `start` on; blocks, and raises UnknownBlob."""
        if book.blob:
            return self.blobs.open(book.blob, start)
        file = books.demo_path().open("rb")
        file.seek(start)
        return file

    async def load_shipped(self) -> dict[str, StoredBook]:
        """Return the books in the package, by name; read once."""
        async with self._load_lock:
            if not self._shipped:
                self._shipped = await self._threads.io(_read_shipped)
        return self._shipped


def _read_shipped() -> dict[str, StoredBook]:
    # This caches the official ones, too: reading a file on the event loop would block it.
    books.official_books()
    data, reader = books.demo_path().read_bytes(), BookReader(books.DEMO)
    reader.feed(data)
    reader.finish()
    hashes = hashlib.sha256(data).hexdigest(), reader.sri
    created = datetime(2026, 1, 1, tzinfo=UTC)
    book = StoredBook(books.DEMO, "", len(data), *hashes, reader.openings, PACKAGE_USER, created)
    return {book.name: book}


# Checks a book while it is uploaded. Every line is counted. The first positions are checked by the
# rules of chess, and later only some, because a book may have millions.

CHECKED_AT_START = 200
"""The number of positions at the start that are all checked; after them, one of CHECKED_EVERY."""
CHECKED_EVERY = 1000
GAME_HEAD = 100_000
"""The length of the beginning of a PGN book, in characters, whose games are checked."""
LONGEST_LINE = 10_000
_GAME = re.compile(r'^\[Event "', re.MULTILINE)


class BookReader:
    """Counts and checks the openings of a book piece by piece, with only one line in memory."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.openings = 0
        self.sri = ""
        """The hash of the text with normalised line ends; empty until `finish`."""
        self._rest = ""
        self._head = ""
        self._digest = hashlib.sha384()
        decoder = codecs.getincrementaldecoder("utf-8")()
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)

    def feed(self, data: bytes) -> bytes:
        self._read(data, last=False)
        return data

    def finish(self) -> bytes:
        self._read(b"", last=True)
        self._count(self._rest)
        if not self.openings:
            raise FileRefused("This book has no openings.")
        if self.name.endswith(".pgn"):
            _check_games(self._head, self.name)
        self.sri = base64.b64encode(self._digest.digest()).decode()
        return b""

    def _read(self, data: bytes, *, last: bool) -> None:
        try:
            text = self._decoder.decode(data, last)
        except UnicodeDecodeError:
            raise FileRefused("A book is UTF-8 text; this is not.") from None
        self._digest.update(text.encode())
        self._head += text[: max(0, GAME_HEAD - len(self._head))]
        lines = (self._rest + text).split("\n")
        self._rest = lines.pop()
        if max(map(len, (self._rest, *lines))) > LONGEST_LINE:
            raise FileRefused(f"A line is longer than {LONGEST_LINE:,} characters.")
        for line in lines:
            self._count(line)

    def _count(self, line: str) -> None:
        if self.name.endswith(".pgn"):
            self.openings += line.startswith('[Event "')
        elif line:
            self.openings += 1
            if self.openings <= CHECKED_AT_START or self.openings % CHECKED_EVERY == 0:
                _check_position(line, self.openings, self.name)


def _check_position(line: str, number: int, name: str) -> None:
    import chess

    fields = line.lstrip("\ufeff").split()[:4]
    try:
        board = chess.Board(" ".join([*fields, "0", "1"]), chess960=is_book_of_chess960(name))
        good = len(fields) == 4 and board.is_valid()
    except ValueError:
        good = False
    if not good:
        raise FileRefused(f"Opening {number} is not a position: {line[:60]!r}.")


def _check_games(head: str, name: str) -> None:
    """Replay the complete games at the beginning of a book; raise FileRefused."""
    import chess.pgn

    marks = [found.start() for found in _GAME.finditer(head)]
    whole = head if len(head) < GAME_HEAD or len(marks) < 2 else head[: marks[-1]]
    text, number = io.StringIO(whole), 1

    class MainLine(chess.pgn.BaseVisitor[bool]):
        """Checks the moves without building a tree, which could be as deep as the text is long."""

        def begin_variation(self) -> chess.pgn.SkipType:
            return chess.pgn.SKIP

        def result(self) -> bool:
            return True

    try:
        while chess.pgn.read_game(text, Visitor=MainLine):
            number += 1
    except ValueError as error:
        raise FileRefused(f"Game {number} of {name} can't be played: {str(error)[:200]}.") from None


# Reads for the page and the API. A private engine's books are visible to its team only.


async def list_visible_books(
    books: BookStore, access: FileAccess, viewer: str | None
) -> tuple[Sequence[StoredBook], Mapping[str, OfficialBook]]:
    """Return the stored books that the viewer may see, and the books that workers download from
    elsewhere, by name."""
    stored = [each for each in await books.list_all() if access.may_see(viewer, each.name)]
    others = sorted(books.official.keys() - {each.name for each in stored})
    return stored, {name: books.official[name] for name in others}


async def find_visible_book(
    books: BookStore, access: FileAccess, viewer: str | None, name: str
) -> StoredBook | None:
    book = await books.by_name(name)
    return book if book is not None and access.may_see(viewer, name) else None
