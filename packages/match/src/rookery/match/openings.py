"""Books of openings: EPD and PGN, plain or compressed. An opening is parsed when it is needed."""

import base64
import gzip
import hashlib
import re
import zipfile
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path, PurePath

import chess


@dataclass(frozen=True, slots=True)
class Opening:
    """A position, and the moves played from it in UCI notation."""

    fen: str
    moves: tuple[str, ...] = ()


STANDARD = Opening(chess.STARTING_FEN)
"""The opening without a book."""


# EPD books: one position per line, with counters as in a FEN or operations as in an EPD.

# Every line that is not empty counts, as for fastchess; otherwise the order would differ.
LINE = re.compile(rb"[^\n]+")
_COUNTERS = re.compile(r"(\d+)\s+(\d+)\b")
_HALF_MOVES = re.compile(r"\bhmvc\s+(\d+)\s*;")
_FULL_MOVE = re.compile(r"\bfmvn\s+(\d+)\s*;")


def epd_starts(text: bytes) -> "array[int]":
    """Return the positions in the text at which openings begin."""
    return array("Q", (line.start() for line in LINE.finditer(text)))


def epd_opening(line: str, *, chess960: bool) -> Opening:
    """Return the opening in a line. Raise ValueError."""
    fields = line.lstrip("\ufeff").split(maxsplit=4)
    if len(fields) < 4:
        raise ValueError("a position has at least four fields")
    half, full = _counters(fields[4] if len(fields) > 4 else "")
    board = chess.Board(" ".join(fields[:4]) + f" {half} {full}", chess960=chess960)
    if not board.is_valid():
        raise ValueError("the position is impossible")
    return Opening(" ".join([*fields[:4], half, full]))


def _counters(rest: str) -> tuple[str, str]:
    if ";" not in rest:
        counted = _COUNTERS.match(rest)
        return (counted.group(1), counted.group(2)) if counted else ("0", "1")
    half, full = _HALF_MOVES.search(rest), _FULL_MOVE.search(rest)
    return half.group(1) if half else "0", full.group(1) if full else "1"


class BookFault(Exception):
    """An opening book that can't be used. The text says which and why."""


# Reads the text of a book from its file: plain, .gz or .zip, with line feeds as line ends.

LARGEST_BOOK = 1 << 30
"""The maximum size of a book after decompression, in bytes."""


class BookFormat(Enum):
    """The format of a book, by the extension of its file."""

    EPD = ".epd"
    PGN = ".pgn"


def read_book(path: Path) -> tuple[BookFormat, bytes]:
    """Return the format and the text of a book file. Raise a BookFault."""
    try:
        return _unpacked(path)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise BookFault(f"the book {path.name} can't be read: {why}") from error


def book_sri(text: bytes) -> str:
    """Return the identifier of a book in a task: SHA-384 of the text with line feeds, in base64."""
    return base64.b64encode(hashlib.sha384(_with_line_feeds(text)).digest()).decode()


def _unpacked(path: Path) -> tuple[BookFormat, bytes]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as pack:
            member = _member(path, pack)
            with pack.open(member) as file:
                return _format(member), _with_line_feeds(
                    _bounded(path, file.read(LARGEST_BOOK + 1))
                )
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            return _format(path.stem), _with_line_feeds(_bounded(path, file.read(LARGEST_BOOK + 1)))
    return _format(path.name), _with_line_feeds(path.read_bytes())


def _member(path: Path, pack: zipfile.ZipFile) -> str:
    """Return the name of the book in a .zip. A file named like the .zip itself is preferred."""
    books = [name for name in pack.namelist() if PurePath(name).suffix in (".epd", ".pgn")]
    books.sort(key=lambda name: (PurePath(name).stem != PurePath(path.stem).stem, name))
    if not books:
        raise _unknown_format(path.name)
    return books[0]


def _unknown_format(name: str) -> BookFault:
    wanted = "neither .epd nor .pgn, plain or packed as .zip or .gz"
    return BookFault(f"the book {name} is {wanted}")


def _format(name: str) -> BookFormat:
    try:
        return BookFormat(PurePath(name).suffix)
    except ValueError:
        raise _unknown_format(name) from None


def _bounded(path: Path, text: bytes) -> bytes:
    if len(text) > LARGEST_BOOK:
        raise BookFault(
            f"the book {path.name} can't be read: it unpacks to more than {LARGEST_BOOK} bytes"
        )
    return text


def _with_line_feeds(text: bytes) -> bytes:
    if b"\r" not in text:
        return text
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


# PGN books: the first moves of each game, without comments, variations and annotations.

_TAG_BLOCK = re.compile(
    # Comments come first, so that a tag quoted in one does not start a game. One without an end
    # extends to the end of the text, so that it is scanned once, and not again from each brace in
    # it.
    rb'\{[^}]*\}?|;[^\n]*|^(?P<tags>(?:\[\w+[ \t]+"[^\n]*\n?\s*)+)',
    re.MULTILINE,
)
_TAG_SECTION = re.compile(r'(?:\s*\[\w+[ \t]+"[^\n]*)*')
_TAG = re.compile(r'^\[(\w+)\s+"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_PIECE = re.compile(
    r"\{[^}]*\}?|;[^\n]*|(?P<open>\()|(?P<close>\))|\$\d+|(?P<end>1-0|0-1|1/2-1/2|\*)"
    r"|\d+\.+|(?P<word>[^\s(){};$]+)"
)
_NUMBER = re.compile(r"\d+\.+|\d+$")


def pgn_starts(text: bytes) -> "array[int]":
    """Return the positions in the text at which games begin. A text without tags is one game."""
    found = array("Q", (m.start() for m in _TAG_BLOCK.finditer(text) if m.group("tags")))
    if not found and text.strip():
        found.append(0)
    return found


def pgn_opening(game: str, *, plies: int | None, chess960: bool) -> Opening:
    """Return the opening of a game, up to the first move that can't be parsed. Raise ValueError if
    there are no moves.

    Like fastchess, it leaves out the move that ends the game, and everything after an illegal one.
    """
    head = _TAG_SECTION.match(game)
    movetext = 0 if head is None else head.end()
    tags = dict(_TAG.findall(game[:movetext]))
    fen = tags.get("FEN", chess.STARTING_FEN)
    board = chess.Board(fen, chess960=chess960 or _is_960(tags.get("Variant", "")))
    moves: list[str] = []
    for san in _main_line(game[movetext:]):
        if plies is not None and len(moves) >= plies:
            break
        move = _move(board, san, first=not moves)
        if move is None:
            break
        uci = board.uci(move)
        board.push(move)
        if board.is_game_over() or board.is_repetition(3) or board.halfmove_clock >= 100:
            break
        moves.append(uci)
    return Opening(fen, tuple(moves))


def _is_960(variant: str) -> bool:
    return variant.lower().replace(" ", "") in ("chess960", "fischerandom", "fischerrandom")


def _move(board: chess.Board, san: str, *, first: bool) -> chess.Move | None:
    try:
        return board.parse_san(san) or None  # a null move is false, and can't be played
    except ValueError:
        if first:
            raise
        return None


def _main_line(movetext: str) -> Iterator[str]:
    """Yield the moves outside of variations, up to the result."""
    depth = 0
    for piece in _PIECE.finditer(movetext):
        if piece.group("open"):
            depth += 1
        elif piece.group("close"):
            depth -= 1
        elif depth == 0 and piece.group("end"):
            return
        elif depth == 0 and (word := piece.group("word")) and not _NUMBER.fullmatch(word):
            yield word.rstrip("!?")


FISCHER_RANDOM_NAMES = ("frc", "960")


@dataclass(frozen=True, slots=True)
class OpeningBook:
    """Openings in the order of the file. Bad ones keep their place, since the order would change
    otherwise."""

    name: str
    format: BookFormat
    text: bytes = field(repr=False)
    starts: "memoryview[int]" = field(repr=False)
    plies: int | None = None
    chess960: bool | None = None

    @staticmethod
    def load(
        path: Path, *, plies: int | None = None, chess960: bool | None = None
    ) -> "OpeningBook":
        """Read a book file. `plies` limits the moves of a PGN opening; `chess960` says whether it
        is of Fischer random, otherwise its name does. Raises a BookFault."""
        kind, text = read_book(path)
        return OpeningBook.parse(path.name, kind, text, plies=plies, chess960=chess960)

    @staticmethod
    def parse(
        name: str,
        kind: BookFormat,
        text: bytes,
        *,
        plies: int | None = None,
        chess960: bool | None = None,
    ) -> "OpeningBook":
        """Return a book from its text, which has line feeds as line ends."""
        starts = epd_starts(text) if kind is BookFormat.EPD else pgn_starts(text)
        if not starts:
            raise BookFault(f"the book {name} has no openings")
        return OpeningBook(name, kind, text, memoryview(starts), plies, chess960)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def sri(self) -> str:
        """The identifier of the book in a task."""
        return book_sri(self.text)

    @property
    def is_chess960(self) -> bool:
        """Whether it is of Fischer random: as was said, or by its name and the rule of the
        contract."""
        if self.chess960 is not None:
            return self.chess960
        return any(word in self.name.lower() for word in FISCHER_RANDOM_NAMES)

    def __getitem__(self, index: int) -> Opening:
        """Return the opening at a place in the file, counted from 0. Raise BookFault."""
        raw = self._raw(index).decode("utf-8", "replace")
        try:
            if self.format is BookFormat.EPD:
                return epd_opening(raw, chess960=self.is_chess960)
            return pgn_opening(raw, plies=self.plies, chess960=self.is_chess960)
        except ValueError as error:
            raise self._bad(index, str(error)) from error

    def _raw(self, index: int) -> bytes:
        if not 0 <= index < len(self.starts):
            raise IndexError(index)
        begin = self.starts[index]
        if self.format is BookFormat.EPD:
            end = self.text.find(b"\n", begin)
            return self.text[begin:] if end < 0 else self.text[begin:end]
        is_last = index + 1 == len(self.starts)
        return self.text[begin : None if is_last else self.starts[index + 1]]

    def _bad(self, index: int, why: str) -> BookFault:
        line = self.text.count(b"\n", 0, self.starts[index]) + 1
        first = self._raw(index).split(b"\n", 1)[0].decode("utf-8", "replace")
        return BookFault(
            f"line {line} of the book {self.name} is not an opening ({why}): {first[:80]}"
        )
