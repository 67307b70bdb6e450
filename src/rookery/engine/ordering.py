"""Which moves to try first: the remembered one, good captures, killers, then what worked before."""

from collections.abc import Iterator

import chess

VALUES = (0, 1, 3, 3, 5, 9, 20)
"""Rough values by piece type, for ordering only."""
KILLER = 1 << 20
PROMOTION = 1 << 21


class Memory:
    """Quiet moves that refuted something during this search."""

    def __init__(self) -> None:
        self._killers: dict[int, tuple[chess.Move, chess.Move | None]] = {}
        self._history = [0] * 8192

    def refuted(self, board: chess.Board, move: chess.Move, *, ply: int, depth: int) -> None:
        """A quiet move was too good for the other side."""
        first = self._killers.get(ply, (None, None))[0]
        if first != move:
            self._killers[ply] = (move, first)
        self._history[_place(board, move)] += depth * depth

    def worth(self, board: chess.Board, move: chess.Move, ply: int) -> int:
        if move.promotion:
            return PROMOTION if move.promotion == chess.QUEEN else -1
        if move in self._killers.get(ply, ()):
            return KILLER
        return min(self._history[_place(board, move)], KILLER - 1)


def ordered(
    board: chess.Board, remembered: chess.Move | None, memory: Memory, ply: int
) -> Iterator[chess.Move]:
    """Every legal move once; those of a later stage are made only when they are asked for."""
    if remembered is not None:
        yield remembered
    for move in captures(board):
        if move != remembered:
            yield move
    quiet = list(board.generate_legal_moves(chess.BB_ALL, ~board.occupied_co[not board.turn]))
    quiet.sort(key=lambda move: (memory.worth(board, move, ply) << 15) + _code(move), reverse=True)
    for move in quiet:
        if move != remembered:
            yield move


def captures(board: chess.Board) -> list[chess.Move]:
    """Captures of the most valuable piece by the least valuable one first; not en passant."""
    found = list(board.generate_legal_moves(chess.BB_ALL, board.occupied_co[not board.turn]))
    if len(found) > 1:
        found.sort(key=lambda move: (_gain(board, move) << 15) + _code(move), reverse=True)
    return found


def promotions(board: chess.Board) -> Iterator[chess.Move]:
    """Moves of a pawn to its last rank without a capture, to a queen."""
    last_but_one = chess.BB_RANK_7 if board.turn else chess.BB_RANK_2
    if pawns := board.pawns & board.occupied_co[board.turn] & last_but_one:
        for move in board.generate_legal_moves(pawns, ~board.occupied):
            if move.promotion == chess.QUEEN:
                yield move


def loses_material(board: chess.Board, move: chess.Move) -> bool:
    """Whether a capture gives more than it takes and the other side can take back."""
    taken = VALUES[board.piece_type_at(move.to_square) or 0]
    taker = VALUES[board.piece_type_at(move.from_square) or 0]
    return taker > taken and board.is_attacked_by(not board.turn, move.to_square)


def _gain(board: chess.Board, move: chess.Move) -> int:
    taken = VALUES[board.piece_type_at(move.to_square) or 0]
    taker = VALUES[board.piece_type_at(move.from_square) or 0]
    return 32 * (taken + VALUES[move.promotion or 0]) - taker


def _place(board: chess.Board, move: chess.Move) -> int:
    return board.turn << 12 | move.from_square << 6 | move.to_square


def _code(move: chess.Move) -> int:
    """A move's own number, so that equal moves come in the same order everywhere."""
    return (move.promotion or 0) << 12 | move.from_square << 6 | move.to_square
