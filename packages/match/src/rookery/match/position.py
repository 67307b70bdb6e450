"""The position of a game in progress: which moves are legal, and whether the rules have ended it.

Only the present board counts. A repetition or fifty-move draw that the next move could cause is not
claimed, and conditions that a move can't have changed are not checked.
"""

import enum
from collections import Counter
from collections.abc import Iterable

import chess

from rookery.match.job import MatchFault
from rookery.match.openings import Opening

# Checks whether a variation can be played, in a fifth of the time that a whole board needs.
#
# Engines show a variation of ten or twenty moves with every answer, and the rules of a general
# board took most of a ply's time. Here a position is eight numbers whose bits are squares, and a
# move is looked up in a table. Moves that it can't judge (castling, malformed texts) and those that
# look illegal are left to the board: True is certain, False only means that the board must be
# asked.

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
"""Moves by their text: from, to, and the piece that a pawn becomes."""


def is_surely_legal(board: chess.Board, moves: Iterable[str]) -> bool:
    """Whether all these moves can be played one after another. False is not certain."""
    position = _BitPosition(board)
    for text in moves:
        move = MOVES.get(text)
        if move is None or not position.play(*move):
            return False
    return True


class _BitPosition:
    """The pieces by kind, those of the side to move, and those of the other side."""

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
        """Make a move. False if it may be illegal; the position must not be used after that."""
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


# The position of the game itself.

Key = tuple[int, ...]
KNOWN = {text: chess.Move(start, end, kind or None) for text, (start, end, kind) in MOVES.items()}
"""The moves of all texts, so that no text is parsed twice."""


class RuleEnding(enum.Enum):
    """How the rules of chess end a game."""

    CHECKMATE = "checkmate"
    STALEMATE = "stalemate"
    INSUFFICIENT = "insufficient material"
    FIFTY_MOVES = "fifty moves without capture or pawn move"
    REPETITION = "threefold repetition"


class IllegalMove(ValueError):
    """A text that is not a legal move in this position."""


class Position:
    """A board with the history for repetitions. There is one per game, changed only by moves."""

    def __init__(self, fen: str, *, chess960: bool = False) -> None:
        self.board = chess.Board(fen, chess960=chess960)
        self.start_fen = self.board.fen()
        self._moves: list[str] = []
        self._seen: Counter[Key] = Counter((self._key(),))
        self._occurrences = 1

    @property
    def white_to_move(self) -> bool:
        return self.board.turn

    @property
    def moves(self) -> list[str]:
        return self._moves

    def play(self, text: str) -> None:
        """Make a move in the engines' notation. In Fischer random, castling is written as king
        takes rook."""
        move = KNOWN.get(text)
        # Castling can be written in two ways, so the parser handles moves of a king.
        if move is None or self.board.kings & chess.BB_SQUARES[move.from_square]:
            move = self._parsed(text)
        elif not self.board.is_legal(move):
            raise IllegalMove(text)
        self.board.push(move)
        self._moves.append(text)
        if not self.board.halfmove_clock:
            self._seen.clear()
        key = self._key()
        self._occurrences = self._seen[key] = self._seen[key] + 1

    def _parsed(self, text: str) -> chess.Move:
        try:
            move = self.board.parse_uci(text)
        except ValueError:
            raise IllegalMove(text) from None
        # The parser accepts the other notation of castling, and null moves.
        if not move or self.board.uci(move) != text:
            raise IllegalMove(text)
        return move

    def ending(self) -> RuleEnding | None:
        """How the game has ended by the rules; None if it goes on."""
        board = self.board
        if next(board.generate_legal_moves(), None) is None:
            return RuleEnding.CHECKMATE if board.is_check() else RuleEnding.STALEMATE
        if board.is_insufficient_material():
            return RuleEnding.INSUFFICIENT
        if board.halfmove_clock >= 100:
            return RuleEnding.FIFTY_MOVES
        return RuleEnding.REPETITION if self._occurrences >= 3 else None

    def uci_command(self) -> bytes:
        """Return the `position` command for this position."""
        head = "startpos" if self.start_fen == chess.STARTING_FEN else f"fen {self.start_fen}"
        tail = f" moves {' '.join(self._moves)}" if self._moves else ""
        return f"position {head}{tail}".encode()

    def is_legal_before(self, moves: tuple[str, ...]) -> bool:
        """Whether a variation can be played from the position before the last move."""
        if moves[0] == self._moves[-1] and is_surely_legal(self.board, moves[1:]):
            return True
        board = self.board.copy(stack=1)
        board.pop()
        for text in moves:
            try:
                board.push(board.parse_uci(text))
            except ValueError:
                return False
        return True

    def _key(self) -> Key:
        board = self.board
        en_passant = board.ep_square if board.ep_square and board.has_legal_en_passant() else 0
        return (
            board.pawns,
            board.knights,
            board.bishops,
            board.rooks,
            board.queens,
            board.kings,
            board.occupied_co[chess.WHITE],
            board.clean_castling_rights(),
            en_passant or 0,
            board.turn,
        )


def position_after(opening: Opening, *, chess960: bool) -> Position:
    """Return the position after an opening. Raise MatchFault."""
    try:
        position = Position(opening.fen, chess960=chess960)
        for move in opening.moves:
            position.play(move)
    except ValueError as error:
        why = f"{error} is not a move" if isinstance(error, IllegalMove) else str(error)
        raise MatchFault(f"The opening {opening.fen} can't be played: {why}.") from None
    return position
