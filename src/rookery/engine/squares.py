"""What a piece is worth on each square, for the middle game and the endgame.

Two numbers travel in one, so that adding up a position takes one addition per piece: the middle
game in the low 16 bits, the endgame above them.
"""

from collections.abc import Callable

from rookery.engine.settings import Weights

Table = tuple[int, ...]

PAWN_ADVANCE_MIDDLE = (0, 0, 2, 9, 20, 42, 70, 0)
PAWN_ADVANCE_END = (0, 4, 8, 17, 36, 72, 115, 0)
KING_HOME = (24, 34, 20, -6, 0, -8, 32, 26)
KING_AWAY_PER_RANK = 22


def pack(middle: int, end: int) -> int:
    return middle + (end << 16)


def middle_of(packed: int) -> int:
    return ((packed + 0x8000) & 0xFFFF) - 0x8000


def end_of(packed: int) -> int:
    return (packed + 0x8000) >> 16


def tables(weights: Weights) -> tuple[tuple[Table, ...], tuple[Table, ...]]:
    """For Black and for White (False and True), a table per piece from pawn to king."""
    material = (
        weights.pawn,
        weights.knight,
        weights.bishop,
        weights.rook,
        weights.queen,
        0,
    )
    shapes = (_pawn, _knight, _bishop, _rook, _queen, _king)
    white = tuple(
        _table(shape, worth, weights.piece_square)
        for shape, worth in zip(shapes, material, strict=True)
    )
    # Black sees the board upside down: square 56 is its a1.
    return tuple(tuple(table[square ^ 56] for square in range(64)) for table in white), white


def _table(shape: Callable[[int, int], tuple[int, int]], worth: int, percent: int) -> Table:
    values = []
    for square in range(64):
        middle, end = shape(square & 7, square >> 3)
        values.append(pack(worth + middle * percent // 100, worth + end * percent // 100))
    return tuple(values)


def _centre(file: int, rank: int) -> int:
    """0 in the corner to 6 on the four squares in the middle."""
    return 7 - (abs(2 * file - 7) + abs(2 * rank - 7)) // 2


def _pawn(file: int, rank: int) -> tuple[int, int]:
    occupied_centre = 16 if file in (3, 4) and rank in (3, 4) else 0
    sleeping = -14 if file in (3, 4) and rank == 1 else 0
    return PAWN_ADVANCE_MIDDLE[rank] + occupied_centre + sleeping, PAWN_ADVANCE_END[rank]


def _knight(file: int, rank: int) -> tuple[int, int]:
    centre = _centre(file, rank)
    return 9 * centre - 32 - (12 if rank == 0 else 0), 6 * centre - 22


def _bishop(file: int, rank: int) -> tuple[int, int]:
    centre = _centre(file, rank)
    return 4 * centre - 10 - (10 if rank == 0 else 0), 3 * centre - 9


def _rook(file: int, rank: int) -> tuple[int, int]:
    seventh = 18 if rank == 6 else 0
    return 3 * min(file, 7 - file) - 5 + seventh, seventh // 2


def _queen(file: int, rank: int) -> tuple[int, int]:
    centre = _centre(file, rank)
    return centre - 3, 5 * centre - 15


def _king(file: int, rank: int) -> tuple[int, int]:
    middle = KING_HOME[file] if rank == 0 else -KING_AWAY_PER_RANK * min(rank, 4)
    return middle, 11 * _centre(file, rank) - 36
