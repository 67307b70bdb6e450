"""How good a position is for the side to move: material, squares, pawns, mobility, king."""

import chess

from rookery.engine.pawns import PawnStructure
from rookery.engine.settings import Weights
from rookery.engine.squares import end_of, middle_of, pack, tables

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
