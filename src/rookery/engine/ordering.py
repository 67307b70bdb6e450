"""Which moves to try first: the remembered one, good captures, killers, then what worked before."""

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

import chess

from rookery.engine.evaluation import MATE_BOUND

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


# Positions searched before, kept by the position itself, so that two never share a place.

Key = tuple[int, int, int, int, int, int, int, bool, int, int]

ENTRIES_PER_MEGABYTE = 1_500
"""A key of ten numbers, an entry and their share of the dictionary take about 650 bytes."""


class Bound(IntEnum):
    EXACT = 0
    LOWER = 1
    UPPER = 2


class Entry(NamedTuple):
    depth: int
    score: int
    bound: Bound
    move: chess.Move | None


def key_of(board: chess.Board) -> Key:
    return (
        board.pawns,
        board.knights,
        board.bishops,
        board.rooks,
        board.queens,
        board.kings,
        board.occupied_co[True],
        board.turn,
        board.castling_rights,
        board.ep_square or 0,
    )


class Table:
    """Emptied when full: simple, and the same on every machine."""

    def __init__(self, megabytes: int) -> None:
        self._most = megabytes * ENTRIES_PER_MEGABYTE
        self._entries: dict[Key, Entry] = {}

    def clear(self) -> None:
        self._entries.clear()

    def get(self, key: Key) -> Entry | None:
        return self._entries.get(key)

    def put(self, key: Key, entry: Entry) -> None:
        if len(self._entries) >= self._most:
            self._entries.clear()
        self._entries[key] = entry

    def permille_full(self) -> int:
        return 1000 * len(self._entries) // self._most


def from_here(score: int, ply: int) -> int:
    """A mate is counted from the root in the search but from the position in the table."""
    if score > MATE_BOUND:
        return score + ply
    return score - ply if score < -MATE_BOUND else score


def from_root(score: int, ply: int) -> int:
    if score > MATE_BOUND:
        return score - ply
    return score + ply if score < -MATE_BOUND else score


def decides(entry: Entry, alpha: int, beta: int, score: int) -> bool:
    """Whether what was found before answers the question asked now."""
    if entry.bound is Bound.EXACT:
        return True
    return score >= beta if entry.bound is Bound.LOWER else score <= alpha


# Seeded chance: node noise and blunders, drawn from a seed and the position and nothing else.
#
# The same position with the same seed gives the same draw in every process, so that a game can be
# replayed wherever and in whatever order it was played.

MASK = 2**64 - 1


def draw(seed: int, purpose: int, key: Key, move_number: int) -> int:
    """A 64-bit number that looks like chance."""
    state = seed
    for word in (purpose, move_number, *key):
        state = _mixed(state ^ (int(word) & MASK))
    return state


def noisy(nodes: int, percent: int, chance: int) -> int:
    """A node limit changed by up to so many percent either way."""
    swing = chance % 2001 - 1000
    return max(1, nodes + nodes * percent * swing // 100_000)


def _mixed(value: int) -> int:
    """One step of a splittable generator: adds an odd constant and stirs."""
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)
