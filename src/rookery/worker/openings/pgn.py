"""PGN books: the first moves of each game, without comments, variations and annotations."""

import re
from array import array
from collections.abc import Iterator

import chess

from rookery.worker.openings.opening import Opening

_TAG_BLOCK = re.compile(
    # Comments come first, so that a tag quoted in one does not start a game. One without an end
    # reaches to the end of the text: it is read once, and not again from each brace in it.
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


def starts(text: bytes) -> "array[int]":
    """Where each game begins; a text without tags is one game."""
    found = array("Q", (m.start() for m in _TAG_BLOCK.finditer(text) if m.group("tags")))
    if not found and text.strip():
        found.append(0)
    return found


def opening(game: str, *, plies: int | None, chess960: bool) -> Opening:
    """The opening of a game, as far as its moves make sense; raises ValueError when none do.

    Like fastchess it leaves out the move that ends the game, and what follows an illegal one.
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
        return board.parse_san(san) or None  # a null move is false, and no move to play
    except ValueError:
        if first:
            raise
        return None


def _main_line(movetext: str) -> Iterator[str]:
    """The moves outside of variations, up to the result."""
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
