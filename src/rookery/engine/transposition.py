"""Positions searched before, kept by the position itself, so that two never share a place."""

from enum import IntEnum
from typing import NamedTuple

import chess

from rookery.engine.scores import MATE_BOUND

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
