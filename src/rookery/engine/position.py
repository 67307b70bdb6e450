"""The position that a `position` command describes, and the positions before it."""

from collections.abc import Sequence

import chess

from rookery.engine.transposition import Key, key_of


class BadPosition(ValueError):
    """the position makes no sense"""


class Position:
    """A board that follows a game: moves that were there before are not played again."""

    def __init__(self) -> None:
        self._start: str | None = None
        self._moves: list[str] = []
        self.board = chess.Board()
        self.before: list[Key] = []
        """The positions since the start, for repetitions; the present one is not among them."""

    def set(self, words: Sequence[str], *, chess960: bool) -> None:
        """Follow the words after `position`; raises BadPosition and then keeps what it had."""
        fen, moves = _split(words)
        if fen != self._start or chess960 != self.board.chess960 or not self._leads_to(moves):
            board, before, known = _set_up(fen, chess960=chess960), [], 0
        else:
            board, before, known = self.board.copy(), list(self.before), len(self._moves)
        for text in moves[known:]:
            before.append(key_of(board))
            _play(board, text)
        self._start, self._moves, self.board, self.before = fen, list(moves), board, before

    def _leads_to(self, moves: Sequence[str]) -> bool:
        return list(moves[: len(self._moves)]) == self._moves


def _split(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    cut = words.index("moves") if "moves" in words else len(words)
    kind, moves = words[:1], words[cut + 1 :]
    if kind == ["startpos"]:
        return chess.STARTING_FEN, moves
    if kind == ["fen"] and cut > 1:
        return " ".join(words[1:cut]), moves
    raise BadPosition("`position` wants startpos or fen")


def _set_up(fen: str, *, chess960: bool) -> chess.Board:
    try:
        board = chess.Board(fen, chess960=chess960)
    except ValueError as error:
        raise BadPosition(str(error)) from error
    if not (board.kings & board.occupied_co[True] and board.kings & board.occupied_co[False]):
        raise BadPosition("each side needs a king")
    return board


def _play(board: chess.Board, text: str) -> None:
    try:
        board.push(board.parse_uci(text))
    except ValueError as error:
        raise BadPosition(str(error)) from error
