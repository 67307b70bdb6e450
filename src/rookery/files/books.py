"""Opening books: those that people upload, and the one that comes with the package."""

import asyncio
import base64
import codecs
import hashlib
import io
import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO

from rookery import books
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.files.blobs import Blobs
from rookery.files.store import (
    FileInUse,
    FileRefused,
    NotYourFile,
    UnknownFile,
    UserFileRows,
    UserFileStore,
    receive,
)
from rookery.model.plan import BOOK_NAME
from rookery.model.run import Run, RunFault
from rookery.rules.lifecycle import Actor

OURS = "rookery"
"""Who gives the books that come with the package."""


class BookTaken(RunFault):
    """there is another book {name} already; remove it first, or choose another name"""


@dataclass(frozen=True, slots=True)
class StoredBook:
    """A book that is kept; without a blob it comes with the package. `sri` is the hash by which
    official workers check it."""

    name: str
    blob: str
    size: int
    sha256: str
    sri: str
    openings: int
    user: str
    created: datetime


class BookRows(UserFileRows[StoredBook]):
    """All uploaded books, by name."""

    name = "books"
    kind = StoredBook


class BookStore(UserFileStore[BookRows]):
    """Takes books in, gives them out. A name means the same text for as long as it is kept: runs
    count on it, so that nothing is ever replaced in place."""

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
        self._reading = asyncio.Lock()

    async def take(self, pieces: AsyncIterator[bytes], name: str, user: str) -> StoredBook:
        """Raises FileRefused, BookTaken or QuotaExceeded; the same book again is no fault."""
        if BOOK_NAME.fullmatch(name) is None:
            raise FileRefused("A book's name is a file name that ends in .epd or .pgn.")
        if name in await self.shipped():
            raise BookTaken(name=name)
        reader = BookReader(name)
        found = await receive(pieces, self.blobs, self._threads, reader)
        hashes, now = (found.sha256, reader.sri), self._clock.now()
        new = StoredBook(name, found.blob, found.size, *hashes, reader.openings, user, now)
        kept = await self._add(new)
        if kept.sha256 != new.sha256:
            raise BookTaken(name=name)
        return kept

    async def by_name(self, name: str) -> StoredBook | None:
        return (await self.shipped()).get(name) or await self.rows.get(name)

    async def everything(self) -> tuple[StoredBook, ...]:
        kept = (*(await self.shipped()).values(), *await self.rows.everything())
        return tuple(sorted(kept, key=lambda book: book.name))

    async def remove(self, name: str, actor: Actor, unfinished: Iterable[Run]) -> StoredBook:
        """Raises UnknownFile, NotYourFile or FileInUse."""
        book = await self.by_name(name)
        if book is None:
            raise UnknownFile(kind="book", name=name)
        if not book.blob or not (actor.approver or actor.name == book.user):
            raise NotYourFile(kind="book")
        if any(run.plan.book == name for run in unfinished):
            raise FileInUse(kind="book", name=name)
        await self._remove(book)
        return book

    def open(self, book: StoredBook, start: int = 0) -> BinaryIO:
        """The text from a place on; it blocks, and raises UnknownBlob."""
        if book.blob:
            return self.blobs.open(book.blob, start)
        file = books.demo_path().open("rb")
        file.seek(start)
        return file

    async def shipped(self) -> dict[str, StoredBook]:
        """What comes with the package, read once."""
        async with self._reading:
            if not self._shipped:
                self._shipped = await self._threads.io(_shipped)
        return self._shipped


def _shipped() -> dict[str, StoredBook]:
    # Read here as well, because nobody may read a file on the loop.
    books.official_books()
    data, reader = books.demo_path().read_bytes(), BookReader(books.DEMO)
    reader.feed(data)
    reader.finish()
    hashes = hashlib.sha256(data).hexdigest(), reader.sri
    created = datetime(2026, 1, 1, tzinfo=UTC)
    book = StoredBook(books.DEMO, "", len(data), *hashes, reader.openings, OURS, created)
    return {book.name: book}


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


def is_960(name: str) -> bool:
    return "FRC" in name.upper() or "960" in name


class BookReader:
    """Counts and checks a book as it comes in; holds a line at the most."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.openings = 0
        self.sri = ""
        """Known once everything has come."""
        self._rest = ""
        self._head = ""
        self._digest = hashlib.sha384()
        decoder = codecs.getincrementaldecoder("utf-8")()
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)

    def feed(self, data: bytes) -> bytes:
        self._take(data, last=False)
        return data

    def finish(self) -> bytes:
        self._take(b"", last=True)
        self._count(self._rest)
        if not self.openings:
            raise FileRefused("There is no opening in this book.")
        if self.name.endswith(".pgn"):
            _check_games(self._head, self.name)
        self.sri = base64.b64encode(self._digest.digest()).decode()
        return b""

    def _take(self, data: bytes, *, last: bool) -> None:
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
            if self.openings <= CLOSELY or self.openings % SPARSELY == 0:
                _check_position(line, self.openings, self.name)


def _check_position(line: str, number: int, name: str) -> None:
    import chess

    fields = line.lstrip("\ufeff").split()[:4]
    try:
        board = chess.Board(" ".join([*fields, "0", "1"]), chess960=is_960(name))
        good = len(fields) == 4 and board.is_valid()
    except ValueError:
        good = False
    if not good:
        raise FileRefused(f"Opening {number} is no position: {line[:60]!r}.")


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
        raise FileRefused(f"Game {number} of {name} can't be played: {str(error)[:200]}.") from None
