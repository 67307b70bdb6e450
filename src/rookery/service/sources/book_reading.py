"""A book as it comes in: how many openings it has, its hash, and whether it is a book at all.

Every line is counted. The rules of chess are asked about some of them only, spread over the whole,
because a book may have millions.
"""

import base64
import codecs
import hashlib
import io
import re
from dataclasses import dataclass, field

from rookery.core.complaint import Complaint

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
