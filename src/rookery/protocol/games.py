"""Uploaded games, looked over: how each ended, how long it was and from where it began.

The text comes from machines that nobody trusts. It is read piece by piece, never grows beyond a
game's worth of memory, and whatever can't be made out is left open instead of being an error.
"""

import enum
import hashlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

PIECE = 256 * 1024
MOST_TEXT = 512 * 2**20
MOST_GAME = 2**20
"""A longer game is no game; what follows it in its upload is not looked at."""
MOST_GAMES = 20_000
MOST_PLIES = 2**16 - 1
OPENING_MOVES = 8
"""Where no position is given, an opening is known by this many half moves."""

_START = b"[Event "
_TAG = re.compile(rb'^\[(\w{1,32}) "([^"\n]{0,200})"\]', re.MULTILINE)
_COMMENT = re.compile(rb"\{[^}]*\}")
_MOVE = re.compile(rb"(?<![\w+#=-])(?:[KQRBN]?[a-h]?[1-8]?x?[a-h][1-8](?:=[QRBN])?|O-O(?:-O)?)")
_NEW = b"New-"


class Outcome(enum.IntEnum):
    """Who won, as the text has it."""

    OPEN = 0
    WHITE = 1
    BLACK = 2
    DRAW = 3


class Ending(enum.IntEnum):
    """Why the game was over."""

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


def scanned(packed: bytes) -> tuple[Game, ...]:
    """The games of a gzip stream, up to where it stops making sense. Takes a while: in a thread."""
    found: list[Game] = []
    try:
        for offset, text in _texts(_unpacked(packed)):
            found.append(_game(text, offset))
            if len(found) == MOST_GAMES:
                break
    except zlib.error:
        pass
    return tuple(found)


def _unpacked(packed: bytes) -> Iterator[bytes]:
    stream, rest, total = zlib.decompressobj(wbits=31), packed, 0
    while rest and not stream.eof and total < MOST_TEXT:
        piece = stream.decompress(rest, PIECE)
        rest = stream.unconsumed_tail
        total += len(piece)
        yield piece
    yield stream.flush(PIECE)[:PIECE]


def _texts(pieces: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Each game's text with its place, as soon as the next one begins."""
    waiting, place = b"", 0
    for piece in pieces:
        waiting += piece
        begin = _first(waiting)
        while (end := waiting.find(b"\n" + _START, begin + 1)) >= 0:
            yield place + begin, waiting[begin : end + 1]
            begin = end + 1
        place, waiting = place + begin, waiting[begin:]
        if len(waiting) > MOST_GAME:
            return
    if waiting.startswith(_START):
        yield place, waiting


def _first(text: bytes) -> int:
    """Where the first game begins; what lies before it belongs to none."""
    if text.startswith(_START):
        return 0
    found = text.find(b"\n" + _START)
    return found + 1 if found >= 0 else max(0, len(text) - len(_START))


def _game(text: bytes, offset: int) -> Game:
    head, _, moves = text.replace(b"\r\n", b"\n").partition(b"\n\n")
    tags = dict(_TAG.findall(head))
    said = tags.get(b"PlyCount", b"")
    plies = int(said) if said.isdigit() and len(said) <= 5 else len(_moves(moves))
    return Game(
        outcome=_OUTCOMES.get(tags.get(b"Result", b""), Outcome.OPEN),
        ending=_ENDINGS.get(tags.get(b"Termination", b"").lower(), Ending.UNSAID),
        new_is_white=tags.get(b"White", b"").startswith(_NEW),
        plies=min(plies, MOST_PLIES),
        opening=_opening(tags.get(b"FEN", b""), moves),
        offset=offset,
    )


def _opening(fen: bytes, moves: bytes) -> bytes:
    # The counters at the end of a position say nothing about the opening.
    words = fen.split()[:4] or _moves(moves[:4096])[:OPENING_MOVES]
    return hashlib.blake2b(b" ".join(words), digest_size=8).digest()


def _moves(text: bytes) -> list[bytes]:
    return _MOVE.findall(_COMMENT.sub(b" ", text))
