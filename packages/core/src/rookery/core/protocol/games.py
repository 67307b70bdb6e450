"""Parses uploaded PGN: how each game ended, how long it was, and its opening.

The text comes from untrusted machines. It is read piece by piece in linear time, with one game in
memory. Text that can't be parsed is no error; a gzip stream that is not complete is one, because
the uploads of a run are downloaded as one concatenated stream.
"""

import enum
import hashlib
import math
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from rookery.core.model.run import RunFault

PIECE = 256 * 1024
PACKED_PIECE = 64 * 1024
MOST_TEXT = 512 * 2**20
MOST_SCANNED = 128 * 2**20
"""The bytes of text that are parsed; the rest is only stored, since a small stream may unpack to a
very long text."""
MOST_GAME = 2**20
"""The longest text of a game; parsing of an upload ends at a longer one."""
MOST_HEAD = 64 * 1024
MOST_GAMES = 20_000
MOST_PLIES = 2**16 - 1
MOST_SHOWN_MOVES = 2_000
OPENING_MOVES = 8
"""The number of half moves that identify an opening without a FEN."""

_START = b"[Event "
_TAG = re.compile(rb'^\[(\w{1,32}) "([^"\n]{0,200})"\]', re.MULTILINE)
# An unclosed comment extends to the end of the text, so that the text is read once and not again
# from each of its braces.
_WORD = re.compile(
    rb"\{[^}]*\}?"
    rb"|(?<![\w+#=-])(?P<move>[KQRBN]?[a-h]?[1-8]?x?[a-h][1-8](?:=[QRBN])?|O-O(?:-O)?)"
)
_NEW = b"New-"
_SCORE = re.compile(r"(?P<sign>[+-]?)(?:(?P<mate>#|M)\d{1,4}|(?P<pawns>\d{1,6}(?:\.\d{1,4})?))/\d")


class BrokenGames(RunFault):
    """the games are not one whole gzip stream: {why}"""


class Outcome(enum.IntEnum):
    """The result of a game by its PGN tag."""

    OPEN = 0
    WHITE = 1
    BLACK = 2
    DRAW = 3


class Ending(enum.IntEnum):
    """Why a game ended, by its PGN tag."""

    UNSAID = 0
    NORMAL = 1
    ADJUDICATION = 2
    TIME_FORFEIT = 3
    ABANDONED = 4
    ILLEGAL_MOVE = 5
    STALLED = 6
    UNTERMINATED = 7


_OUTCOMES = {b"1-0": Outcome.WHITE, b"0-1": Outcome.BLACK, b"1/2-1/2": Outcome.DRAW}
_ENDINGS = {
    b"normal": Ending.NORMAL,
    b"adjudication": Ending.ADJUDICATION,
    b"time forfeit": Ending.TIME_FORFEIT,
    b"abandoned": Ending.ABANDONED,
    b"illegal move": Ending.ILLEGAL_MOVE,
    b"stalled connection": Ending.STALLED,
    b"unterminated": Ending.UNTERMINATED,
}


@dataclass(frozen=True, slots=True)
class Game:
    """One game; `opening` is a digest that equal openings share, `offset` counts bytes of text."""

    outcome: Outcome
    ending: Ending
    new_is_white: bool
    plies: int
    opening: bytes
    offset: int


def scan_games(packed: bytes | Iterator[bytes]) -> tuple[Game, ...]:
    """Return the games of a gzip stream; raise BrokenGames. To be called in a thread."""
    pieces = _unpack(_cut(packed) if isinstance(packed, bytes) else packed)
    found = [_parse_game(text, offset) for offset, text in islice(_split_games(pieces), MOST_GAMES)]
    for _ in pieces:
        pass  # only reading to the end shows whether the stream is complete
    return tuple(found)


def read_game(packed: Iterator[bytes], offset: int) -> str:
    """Return the text of the game that begins at an offset of the unpacked text; raise BrokenGames.
    To be called in a thread."""
    skipped, found = 0, b""
    for piece in _unpack(packed):
        if skipped + len(piece) > offset:
            found += piece[max(0, offset - skipped) :]
            end = found.find(b"\n" + _START, 1)
            if end >= 0 or len(found) > MOST_GAME:
                return found[: end if end >= 0 else MOST_GAME].decode("utf-8", "replace")
        skipped += len(piece)
    return found.decode("utf-8", "replace")


def read_first_games(packed: Iterator[bytes], most: int) -> tuple[str, ...]:
    """Return the texts of the first games of a gzip stream; raise BrokenGames. To be called in a
    thread."""
    found = islice(_split_games(_unpack(packed)), most)
    return tuple(text.decode("utf-8", "replace") for _, text in found)


def _cut(packed: bytes) -> Iterator[bytes]:
    return (packed[at : at + PACKED_PIECE] for at in range(0, len(packed), PACKED_PIECE))


def _unpack(packed: Iterator[bytes]) -> Iterator[bytes]:
    stream, total = zlib.decompressobj(wbits=31), 0
    try:
        for piece in _inflate(stream, packed):
            total += len(piece)
            if total > MOST_TEXT:
                raise BrokenGames(why=f"it unpacks to more than {MOST_TEXT} bytes")
            yield piece
    except zlib.error:
        raise BrokenGames(why="it is damaged") from None
    if not stream.eof:
        raise BrokenGames(why="it breaks off")


def _inflate(stream: "zlib._Decompress", packed: Iterator[bytes]) -> Iterator[bytes]:
    for given in packed:
        rest = given
        if stream.eof:
            raise BrokenGames(why="something follows it")
        while rest and not stream.eof:
            yield stream.decompress(rest, PIECE)
            rest = stream.unconsumed_tail
        if stream.unused_data:
            raise BrokenGames(why="something follows it")
    while not stream.eof and (piece := stream.decompress(b"", PIECE)):
        yield piece


def _split_games(pieces: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the text of each game with its offset."""
    waiting, place = b"", 0
    for piece in pieces:
        waiting += piece
        begin = _find_first(waiting)
        while (end := waiting.find(b"\n" + _START, begin + 1)) >= 0:
            yield place + begin, waiting[begin : end + 1]
            begin = end + 1
        place, waiting = place + begin, waiting[begin:]
        if len(waiting) > MOST_GAME or place > MOST_SCANNED:
            return
    if waiting.startswith(_START):
        yield place, waiting


def _find_first(text: bytes) -> int:
    """Return the place where the first game begins."""
    if text.startswith(_START):
        return 0
    found = text.find(b"\n" + _START)
    return found + 1 if found >= 0 else max(0, len(text) - len(_START))


def _parse_game(text: bytes, offset: int) -> Game:
    head, _, moves = text.replace(b"\r\n", b"\n").partition(b"\n\n")
    tags = dict(_TAG.findall(head[:MOST_HEAD]))
    said = tags.get(b"PlyCount", b"")
    plies = int(said) if said.isdigit() and len(said) <= 5 else _count_moves(moves)
    return Game(
        outcome=_OUTCOMES.get(tags.get(b"Result", b""), Outcome.OPEN),
        ending=_ENDINGS.get(tags.get(b"Termination", b"").lower(), Ending.UNSAID),
        new_is_white=tags.get(b"White", b"").startswith(_NEW),
        plies=min(plies, MOST_PLIES),
        opening=_digest_opening(tags.get(b"FEN", b""), moves),
        offset=offset,
    )


@dataclass(frozen=True, slots=True)
class GameMove:
    """A move, and the engine's comment on it, without braces."""

    san: str
    comment: str = ""


def read_score(comment: str) -> float | None:
    """Return the score in pawns at the beginning of an engine's comment, such as `+0.35/14 0.22s`,
    from the view of the side that moved; a mate is infinite. None if there is no score."""
    found = _SCORE.match(comment)
    if not found:
        return None
    if found["mate"]:
        return -math.inf if found["sign"] == "-" else math.inf
    return float(f"{found['sign']}{found['pawns']}")


@dataclass(frozen=True, slots=True)
class GameText:
    """One game as people read it: its tags and its moves."""

    tags: dict[str, str]
    moves: tuple[GameMove, ...]

    @property
    def white_begins(self) -> bool:
        return self.tags.get("FEN", "").split()[1:2] != ["b"]

    @property
    def first_number(self) -> int:
        """The number of the first move."""
        found = self.tags.get("FEN", "").split()[5:6]
        return int(found[0]) if found and found[0].isdigit() and len(found[0]) < 5 else 1


def parse_game_text(text: str) -> GameText:
    """Return the tags and moves of a game; both are empty for a text that is no PGN."""
    head, _, body = text.encode().replace(b"\r\n", b"\n").partition(b"\n\n")
    tags = {
        name.decode(): value.decode("utf-8", "replace")
        for name, value in _TAG.findall(head[:MOST_HEAD])
    }
    moves: list[GameMove] = []
    for found in _WORD.finditer(body[:MOST_GAME]):
        word = found[0].decode("utf-8", "replace")
        if found["move"]:
            moves.append(GameMove(word))
        elif moves:
            moves[-1] = GameMove(moves[-1].san, " ".join(word.strip("{}").split()))
        if len(moves) > MOST_SHOWN_MOVES:
            break
    return GameText(tags, tuple(moves[:MOST_SHOWN_MOVES]))


def _digest_opening(fen: bytes, moves: bytes) -> bytes:
    # Without the move counters at the end of a FEN.
    words = fen.split()[:4] or islice(_find_moves(moves), OPENING_MOVES)
    return hashlib.blake2b(b" ".join(words), digest_size=8).digest()


def _find_moves(text: bytes) -> Iterator[bytes]:
    """Return the moves, found one at a time: one search for all would block all other threads."""
    return (found["move"] for found in _WORD.finditer(text) if found["move"])


def _count_moves(moves: bytes) -> int:
    return sum(1 for _ in islice(_find_moves(moves), MOST_PLIES))
