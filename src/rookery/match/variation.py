"""Whether a variation can be played, found out in a fifth of the time a whole board takes.

Engines show a variation of ten or twenty moves with every answer, and the rules of a general board
took most of a ply's time. Here a position is eight numbers, whose bits are squares, and a move is
looked up. What it can't judge (castling, texts that are no moves) and whatever looks illegal is
left to the board: a yes is certain, a no only means that the board is to be asked.
"""

from collections.abc import Iterable

import chess

PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = chess.PIECE_TYPES
BIT = chess.BB_SQUARES
LAST_RANKS = chess.BB_RANK_1 | chess.BB_RANK_8
SECOND_RANK = {True: chess.BB_RANK_2, False: chess.BB_RANK_7}
AHEAD = {True: 8, False: -8}
NOWHERE = -1
STRAIGHT = [chess.BB_RANK_ATTACKS[at][0] | chess.BB_FILE_ATTACKS[at][0] for at in chess.SQUARES]
DIAGONAL = [chess.BB_DIAG_ATTACKS[at][0] for at in chess.SQUARES]
REACH = {
    KNIGHT: chess.BB_KNIGHT_ATTACKS,
    BISHOP: DIAGONAL,
    ROOK: STRAIGHT,
    QUEEN: [one | other for one, other in zip(STRAIGHT, DIAGONAL, strict=True)],
    KING: chess.BB_KING_ATTACKS,
}
BETWEEN = [[chess.between(one, other) for other in chess.SQUARES] for one in chess.SQUARES]
PLAIN = {
    one + other: (chess.parse_square(one), chess.parse_square(other), 0)
    for one in chess.SQUARE_NAMES
    for other in chess.SQUARE_NAMES
}
MOVES = PLAIN | {
    text + letter: (start, end, kind)
    for text, (start, end, _) in PLAIN.items()
    if BIT[end] & LAST_RANKS and abs((start & 7) - (end & 7)) < 2
    for letter, kind in (("n", KNIGHT), ("b", BISHOP), ("r", ROOK), ("q", QUEEN))
}
"""By their text: from where, to where, and what a pawn becomes there."""


def is_surely_legal(board: chess.Board, moves: Iterable[str]) -> bool:
    """Whether all these moves can be played one after the other; a no is not certain."""
    position = _Position(board)
    for text in moves:
        move = MOVES.get(text)
        if move is None or not position.play(*move):
            return False
    return True


class _Position:
    """The men by kind, those of the side to move, and those of the other."""

    __slots__ = ("_en_passant", "_men", "_other", "_own", "_white")

    def __init__(self, board: chess.Board) -> None:
        self._men = [
            0, board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings
        ]  # fmt: skip
        self._white = board.turn
        self._own = board.occupied_co[board.turn]
        self._other = board.occupied_co[not board.turn]
        self._en_passant = NOWHERE if board.ep_square is None else board.ep_square

    def play(self, start: int, end: int, promotion: int) -> bool:
        """Make the move; False where it may be illegal, and then nothing here counts any more."""
        leaving, arriving, men = BIT[start], BIT[end], self._men
        if not self._own & leaving or self._own & arriving:
            return False
        kind = next(kind for kind in chess.PIECE_TYPES if men[kind] & leaving)
        if kind == PAWN:
            possible = self._pawn_can(start, end, promotion)
        else:
            occupied = self._own | self._other
            possible = bool(
                REACH[kind][start] & arriving
                and not BETWEEN[start][end] & occupied
                and not promotion
            )
        if not possible:
            return False
        self._capture(kind, end, arriving)
        men = self._men
        men[kind] ^= leaving
        men[promotion or kind] |= arriving
        self._own ^= leaving | arriving
        if self._is_in_check():
            return False
        self._en_passant = (
            (start + end) // 2 if kind == PAWN and abs(start - end) == 16 else NOWHERE
        )
        self._own, self._other, self._white = self._other, self._own, not self._white
        return True

    def _pawn_can(self, start: int, end: int, promotion: int) -> bool:
        arriving, ahead = BIT[end], AHEAD[self._white]
        if bool(promotion) != bool(arriving & LAST_RANKS):
            return False
        occupied = self._own | self._other
        if end == start + ahead:
            return not occupied & arriving
        if end == start + 2 * ahead:
            through = arriving | BIT[start + ahead]
            return bool(BIT[start] & SECOND_RANK[self._white]) and not occupied & through
        if not chess.BB_PAWN_ATTACKS[self._white][start] & arriving:
            return False
        return bool(self._other & arriving) or end == self._en_passant

    def _capture(self, kind: int, end: int, arriving: int) -> None:
        if self._other & arriving:
            taken = arriving
        elif kind == PAWN and end == self._en_passant:
            taken = BIT[end - AHEAD[self._white]]
        else:
            return
        self._other ^= taken
        self._men = [one & ~taken for one in self._men]

    def _is_in_check(self) -> bool:
        men, other = self._men, self._other
        king = (men[KING] & self._own).bit_length() - 1
        if other & (
            chess.BB_KNIGHT_ATTACKS[king] & men[KNIGHT]
            | chess.BB_KING_ATTACKS[king] & men[KING]
            | chess.BB_PAWN_ATTACKS[self._white][king] & men[PAWN]
        ):
            return True
        lines = STRAIGHT[king] & (men[ROOK] | men[QUEEN])
        far = other & (lines | DIAGONAL[king] & (men[BISHOP] | men[QUEEN]))
        occupied = self._own | other
        while far:
            square = far.bit_length() - 1
            if not BETWEEN[king][square] & occupied:
                return True
            far ^= BIT[square]
        return False
