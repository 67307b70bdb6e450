"""The files of a match: games as PGN, and the resume file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

import chess
import msgspec

from rookery.match.job import GameResult, MatchFault, PlayedMove, Termination, file_fault
from rookery.match.results import PairScore

# Writes a game as PGN, with each engine's search and times, how the game ended and why.

WIDTH = 80
Tag = tuple[str, str]
ROSTER = {
    "Event": "?",
    "Site": "?",
    "Date": "????.??.??",
    "Round": "?",
    "White": "?",
    "Black": "?",
    "Result": "*",
}
"""The tags that every game begins with, in this order, with the values for unknown data."""


def pgn_text(game: GameResult, tags: Sequence[Tag] = ()) -> str:
    """Return the whole game. `tags` have what the game itself does not know (Event, Round,
    Date)."""
    found = ROSTER | dict(_tags(game)) | dict(tags)
    head = "\n".join(f'[{name} "{_quoted(value)}"]' for name, value in found.items())
    return f"{head}\n\n{_wrapped(_words(game))}\n\n"


def _tags(game: GameResult) -> Iterator[Tag]:
    yield "White", game.white
    yield "Black", game.black
    yield "Result", game.result
    if game.fen != chess.STARTING_FEN:
        yield "SetUp", "1"
        yield "FEN", game.fen
    if game.chess960:
        yield "Variant", "Chess960"
    yield "PlyCount", str(len(game.book_moves) + game.plies)
    yield "GameDuration", f"{game.seconds:.3f}"
    yield "Termination", game.termination.value


def _words(game: GameResult) -> Iterator[str]:
    board = chess.Board(game.fen, chess960=game.chess960)
    book = [PlayedMove(move) for move in game.book_moves]
    for place, played in enumerate((*book, *game.moves)):
        # The runner has checked that all moves are legal, so this does not check again.
        move = chess.Move.from_uci(played.move)
        if board.turn or not place:
            yield f"{board.fullmove_number}{'.' if board.turn else '...'}"
        yield board.san_and_push(move)
        yield from ("{book}" if place < len(book) else _comment(played)).split()
    reason = game.reason.replace("{", "(").replace("}", ")")
    end = "" if game.termination is Termination.NORMAL else f"{{{reason}}}"
    yield from (*end.split(), game.result)


def _comment(played: PlayedMove) -> str:
    score = f"{played.score}/{played.depth} " if played.score else ""
    nodes = f", n={played.nodes}" if played.nodes else ""
    return f"{{{score}{played.seconds:.3f}s{nodes}}}"


def _wrapped(words: Iterator[str]) -> str:
    lines, length = [[""]], 0
    for word in words:
        if length + 1 + len(word) > WIDTH:
            lines.append([])
            length = 0
        lines[-1].append(word)
        length += 1 + len(word)
    return "\n".join(" ".join(line).strip() for line in lines)


def _quoted(text: str) -> str:
    plain = "".join(letter if letter.isprintable() else "?" for letter in text)
    return plain.replace("\\", "\\\\").replace('"', '\\"')


# The resume file of a match: its arguments, then a line for each finished pair.
#
# Lines are only ever appended, so that a match can be killed at any moment. An incomplete last line
# is ignored, and its pair is played again.


def _unreadable(path: Path, why: str) -> MatchFault:
    return MatchFault(f"{path} cannot be resumed: {why}.")


class JournalHeader(msgspec.Struct, frozen=True):
    """The arguments of the match or the tune."""

    kind: str
    words: tuple[str, ...]
    version: int = 1


class JournalEntry(msgspec.Struct, frozen=True):
    """A finished pair. For a tune, also the iteration and the flips."""

    pair: PairScore
    iteration: int = 0
    flips: str = ""


@dataclass(frozen=True, slots=True)
class Journal:
    """The content of a resume file."""

    head: JournalHeader
    entries: tuple[JournalEntry, ...]

    @property
    def numbers(self) -> frozenset[int]:
        """The numbers of the pairs that need not be played again."""
        return frozenset(entry.pair.number for entry in self.entries)


def read_journal(path: Path, kind: str) -> Journal:
    """Read a resume file. Raises MatchFault."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from None
    try:
        head = msgspec.json.decode(lines[0], type=JournalHeader)
    except msgspec.DecodeError:
        raise _unreadable(path, "it is not a resume file") from None
    if head.kind != kind:
        raise _unreadable(path, f"it belongs to `rookery {head.kind}`")
    # After the last line end there is nothing, or an incomplete line.
    return Journal(head, _entries(path, lines[1:-1]))


def _entries(path: Path, lines: Sequence[bytes]) -> tuple[JournalEntry, ...]:
    decoder = msgspec.json.Decoder(JournalEntry)
    try:
        return tuple(decoder.decode(line) for line in lines if line)
    except msgspec.DecodeError as error:
        raise _unreadable(path, f"a line is damaged ({error})") from None


class JournalWriter:
    """Appends to a resume file, and creates it if there is none."""

    def __init__(self, path: Path, head: JournalHeader) -> None:
        self.path = path
        self._head = head
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            self._file = self.path.open("ab")
        except OSError as error:
            raise file_fault(self.path, error) from None
        if self._file.tell() == 0:
            self._write(self._head)
        else:
            _drop_half_line(self.path)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._file is not None
        self._file.close()

    def add(self, entry: JournalEntry) -> None:
        self._write(entry)

    def _write(self, said: JournalHeader | JournalEntry) -> None:
        assert self._file is not None
        try:
            self._file.write(msgspec.json.encode(said) + b"\n")
            self._file.flush()
        except OSError as error:
            raise file_fault(self.path, error) from None


def _drop_half_line(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(file.read().rfind(b"\n") + 1)
