"""The position of a game in progress: which moves are legal, and whether the rules have ended it.

Only what is on the board counts. A repetition or a fifty-move draw that the next move could bring
about is not claimed, and nothing is searched that a move can't have changed.
"""

import enum
from collections import Counter

import chess

from rookery.worker.match.faults import MatchFault
from rookery.worker.match.variation import MOVES, is_surely_legal
from rookery.worker.openings import Opening

Key = tuple[int, ...]
KNOWN = {text: chess.Move(start, end, kind or None) for text, (start, end, kind) in MOVES.items()}
"""Every text that can be a move, so that none is parsed twice."""


class Ending(enum.Enum):
    """How the rules of chess end a game."""

    CHECKMATE = "checkmate"
    STALEMATE = "stalemate"
    INSUFFICIENT = "insufficient material"
    FIFTY_MOVES = "fifty moves without capture or pawn move"
    REPETITION = "threefold repetition"


class IllegalMove(ValueError):
    """A text that is no legal move here."""


class UnusableOpening(MatchFault):
    """An opening that can't be set up, so that nobody could play from it."""

    def __init__(self, fen: str, why: str) -> None:
        super().__init__(f"The opening {fen} can't be played: {why}.")


class Position:
    """A board with the memory that repetitions need; one a game, changed by its moves alone."""

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
        """Make a move given as engines write it: king takes rook in Fischer random."""
        move = KNOWN.get(text)
        # A king may castle, which has two ways of being written: that is for the parser.
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
        # The parser forgives the other way to write a castling move, and knows a null move.
        if not move or self.board.uci(move) != text:
            raise IllegalMove(text)
        return move

    def ending(self) -> Ending | None:
        """How the game is over now, if it is."""
        board = self.board
        if next(board.generate_legal_moves(), None) is None:
            return Ending.CHECKMATE if board.is_check() else Ending.STALEMATE
        if board.is_insufficient_material():
            return Ending.INSUFFICIENT
        if board.halfmove_clock >= 100:
            return Ending.FIFTY_MOVES
        return Ending.REPETITION if self._occurrences >= 3 else None

    def line(self) -> bytes:
        """The `position` command that leads here."""
        head = "startpos" if self.start_fen == chess.STARTING_FEN else f"fen {self.start_fen}"
        tail = f" moves {' '.join(self._moves)}" if self._moves else ""
        return f"position {head}{tail}".encode()

    def is_legal_before(self, moves: tuple[str, ...]) -> bool:
        """Whether a variation could be played from where the last move was made."""
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


def opened(opening: Opening, *, chess960: bool) -> Position:
    """The position that an opening leads to; raises UnusableOpening."""
    try:
        position = Position(opening.fen, chess960=chess960)
        for move in opening.moves:
            position.play(move)
    except IllegalMove as illegal:
        raise UnusableOpening(opening.fen, f"{illegal} is no move") from None
    except ValueError as error:
        raise UnusableOpening(opening.fen, str(error)) from None
    return position
