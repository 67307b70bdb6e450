"""How good a position is for the side to move: material, squares, pawns, mobility, king."""

from collections.abc import Callable

import chess

from rookery.engine.settings import Weights

# What a piece is worth on each square, for the middle game and the endgame.
#
# Two numbers travel in one, so that adding up a position takes one addition per piece: the middle
# game in the low 16 bits, the endgame above them.

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


# The pawn structure: doubled, isolated and passed pawns, remembered because it changes rarely.

MOST_REMEMBERED = 20_000
NEIGHBOURS = tuple(
    (chess.BB_FILES[file - 1] if file > 0 else 0) | (chess.BB_FILES[file + 1] if file < 7 else 0)
    for file in range(8)
)


def _ahead(square: int, *, white: bool) -> int:
    """The squares in front of a pawn on its own and the neighbouring files."""
    ranks = range((square >> 3) + 1, 8) if white else range(square >> 3)
    files = chess.BB_FILES[square & 7] | NEIGHBOURS[square & 7]
    return files & sum(chess.BB_RANKS[rank] for rank in ranks)


AHEAD = (
    tuple(_ahead(square, white=False) for square in range(64)),
    tuple(_ahead(square, white=True) for square in range(64)),
)


class PawnStructure:
    """Scores the pawns alone, from White's point of view, packed."""

    def __init__(self, weights: Weights) -> None:
        self._doubled = pack(-weights.doubled_pawn, -weights.doubled_pawn * 3 // 2)
        self._isolated = pack(-weights.isolated_pawn, -weights.isolated_pawn)
        self._passed = tuple(
            pack(weights.passed_pawn * rank * rank // 8, weights.passed_pawn * rank * rank // 4)
            for rank in range(8)
        )
        self._known: dict[tuple[int, int], int] = {}

    def score(self, white: int, black: int) -> int:
        known = self._known.get((white, black))
        if known is None:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            known = self._side(white, black, white=True) - self._side(black, white, white=False)
            self._known[white, black] = known
        return known

    def _side(self, own: int, other: int, *, white: bool) -> int:
        score = 0
        for file in range(8):
            count = (own & chess.BB_FILES[file]).bit_count()
            if count > 1:
                score += (count - 1) * self._doubled
            if count and not own & NEIGHBOURS[file]:
                score += count * self._isolated
        for square in chess.scan_forward(own):
            if not other & AHEAD[white][square]:
                score += self._passed[square >> 3 if white else 7 - (square >> 3)]
        return score


FULL_PHASE = 24
"""Minor pieces count one, rooks two, queens four: so many are on the board at the start."""

HUNT_PER_STEP = 10
"""What a king gains for each step nearer to the other one when that stands alone."""

KNIGHT_ATTACKS = chess.BB_KNIGHT_ATTACKS
DIAGONALS, DIAGONAL_MASKS = chess.BB_DIAG_ATTACKS, chess.BB_DIAG_MASKS
FILES, FILE_MASKS = chess.BB_FILE_ATTACKS, chess.BB_FILE_MASKS
RANKS, RANK_MASKS = chess.BB_RANK_ATTACKS, chess.BB_RANK_MASKS


class Evaluation:
    """Whole numbers only, so that every machine gets the same."""

    def __init__(self, weights: Weights) -> None:
        self._tables = tables(weights)
        self._pawns = PawnStructure(weights)
        self._pair = pack(weights.bishop_pair, weights.bishop_pair)
        self._mobility = pack(weights.mobility, weights.mobility)
        self._open_file = pack(weights.open_file, weights.open_file // 2)
        self._shield = pack(weights.king_shield, 0)
        self._tempo = weights.tempo

    def __call__(self, board: chess.Board) -> int:
        """Centipawns for the side to move."""
        black, white = board.occupied_co
        packed = self._pawns.score(board.pawns & white, board.pawns & black)
        packed += self._side(board, white, self._tables[True])
        packed -= self._side(board, black, self._tables[False])
        if not board.turn:
            packed = -packed
        phase = min(FULL_PHASE, _phase(board))
        middle, end = middle_of(packed), end_of(packed)
        return (middle * phase + end * (FULL_PHASE - phase)) // FULL_PHASE + self._tempo

    def _side(self, board: chess.Board, own: int, table: tuple[tuple[int, ...], ...]) -> int:
        pawns, knights, bishops, rooks, queens, kings = table
        score = _sum(board.pawns & own, pawns)
        score += _sum(board.knights & own, knights)
        score += _sum(board.bishops & own, bishops)
        score += _sum(board.rooks & own, rooks)
        score += _sum(board.queens & own, queens)
        king = board.kings & own
        score += _sum(king, kings)
        own_pawns = board.pawns & own
        score += (
            self._shield * (chess.BB_KING_ATTACKS[king.bit_length() - 1] & own_pawns).bit_count()
        )
        if (board.bishops & own).bit_count() > 1:
            score += self._pair
        if board.occupied == own | board.kings:
            score += pack(0, HUNT_PER_STEP * (7 - _king_distance(board)))
        score += self._open_file * _rooks_on_open_files(board.rooks & own, own_pawns)
        return score + self._mobility * _mobility(board, own)


def _king_distance(board: chess.Board) -> int:
    kings = board.kings
    return chess.square_distance(chess.lsb(kings), chess.msb(kings))


def _phase(board: chess.Board) -> int:
    minor = (board.knights | board.bishops).bit_count()
    return minor + 2 * board.rooks.bit_count() + 4 * board.queens.bit_count()


def _sum(pieces: int, table: tuple[int, ...]) -> int:
    score = 0
    while pieces:
        square = pieces & -pieces
        score += table[square.bit_length() - 1]
        pieces ^= square
    return score


def _rooks_on_open_files(rooks: int, own_pawns: int) -> int:
    count = 0
    while rooks:
        square = rooks & -rooks
        if not own_pawns & chess.BB_FILES[(square.bit_length() - 1) & 7]:
            count += 1
        rooks ^= square
    return count


def _mobility(board: chess.Board, own: int) -> int:
    """How many squares knights, bishops and rooks reach; a queen's are hers too early in a game."""
    count, free, occupied = 0, ~own, board.occupied
    pieces = board.knights & own
    while pieces:
        square = pieces & -pieces
        count += (KNIGHT_ATTACKS[square.bit_length() - 1] & free).bit_count()
        pieces ^= square
    pieces = board.bishops & own
    while pieces:
        bit = pieces & -pieces
        square = bit.bit_length() - 1
        count += (DIAGONALS[square][DIAGONAL_MASKS[square] & occupied] & free).bit_count()
        pieces ^= bit
    pieces = board.rooks & own
    while pieces:
        bit = pieces & -pieces
        square = bit.bit_length() - 1
        reached = FILES[square][FILE_MASKS[square] & occupied]
        reached |= RANKS[square][RANK_MASKS[square] & occupied]
        count += (reached & free).bit_count()
        pieces ^= bit
    return count


# Scores and what they mean: centipawns, or a mate in a number of plies.

MATE = 30_000
MATE_BOUND = MATE - 1_000
"""Scores beyond this one tell a mate."""
DRAW = 0


def is_mate(score: int) -> bool:
    return abs(score) > MATE_BOUND


def as_uci(score: int) -> str:
    """The words after `score` in an info line."""
    if not is_mate(score):
        return f"cp {score}"
    plies = MATE - abs(score)
    moves = (plies + 1) // 2
    return f"mate {moves if score > 0 else -moves}"
