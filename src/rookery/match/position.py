"""The position of a game in progress: which moves are legal, and whether the rules have ended it.

Only what is on the board counts. A repetition or a fifty-move draw that the next move could bring
about is not claimed, and nothing is searched that a move can't have changed.
"""

import enum
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import chess
import chess.syzygy

from rookery.match.job import MatchFault, Termination
from rookery.match.openings import Opening
from rookery.match.scores import Adjudication, DrawCount, ResignCount, Score
from rookery.match.variation import MOVES, is_surely_legal

Key = tuple[int, ...]
KNOWN = {text: chess.Move(start, end, kind or None) for text, (start, end, kind) in MOVES.items()}
"""Every text that can be a move, so that none is parsed twice."""


class RuleEnding(enum.Enum):
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

    def ending(self) -> RuleEnding | None:
        """How the game is over now, if it is."""
        board = self.board
        if next(board.generate_legal_moves(), None) is None:
            return RuleEnding.CHECKMATE if board.is_check() else RuleEnding.STALEMATE
        if board.is_insufficient_material():
            return RuleEnding.INSUFFICIENT
        if board.halfmove_clock >= 100:
            return RuleEnding.FIFTY_MOVES
        return RuleEnding.REPETITION if self._occurrences >= 3 else None

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


def position_after(opening: Opening, *, chess960: bool) -> Position:
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


# How a game stands after each move: over by the rules, by adjudication, or going on.

DRAW = "1/2-1/2"
TablebaseProbe = Callable[[chess.Board], int | None]
"""What a tablebase says about a position for the side to move: 1, 0, -1, or nothing."""


@dataclass(frozen=True, slots=True)
class GameEnd:
    """The result of a game, the kind of its end and a sentence about it."""

    result: str
    termination: Termination
    reason: str


def won_by(white: bool) -> str:
    return "1-0" if white else "0-1"


def colour_name(white: bool) -> str:
    return "White" if white else "Black"


class Referee:
    """Judges one game; asked before the first move and after every one that an engine makes."""

    def __init__(self, rules: Adjudication, probe: TablebaseProbe | None = None) -> None:
        self._rules = rules
        self._probe = probe
        self._resign = ResignCount(rules.resign) if rules.resign else None
        self._draw = DrawCount(rules.draw) if rules.draw else None
        self._plies = 0

    def at_start(self, position: Position) -> GameEnd | None:
        """The verdict on an opening that leaves nothing to play."""
        return self.by_rules(position) or self._by_tablebase(position)

    def by_rules(self, position: Position) -> GameEnd | None:
        """The end that the rules of chess bring about."""
        ending = position.ending()
        if ending is None:
            return None
        if ending is RuleEnding.CHECKMATE:
            winner = not position.white_to_move
            return GameEnd(won_by(winner), Termination.NORMAL, f"{colour_name(winner)} mates")
        return GameEnd(DRAW, Termination.NORMAL, f"Draw by {ending.value}")

    def after_move(self, position: Position, score: Score | None) -> GameEnd | None:
        """The verdict once a move with this score was made.

        The rules go before tables, tables before scores, scores before the length.
        """
        mover = not position.white_to_move
        self._plies += 1
        # Both count every move, so both are asked before either may decide.
        resigns = self._resign is not None and self._resign.after(score, white=mover)
        drawn = self._draw is not None and self._draw.after(
            score,
            halfmove_clock=position.board.halfmove_clock,
            completed_moves=position.board.fullmove_number - 1,
        )
        if over := self.by_rules(position) or self._by_tablebase(position):
            return over
        if resigns:
            reason = f"{colour_name(not mover)} wins by adjudication"
            return GameEnd(won_by(not mover), Termination.ADJUDICATION, reason)
        if drawn or self._is_too_long():
            return GameEnd(DRAW, Termination.ADJUDICATION, "Draw by adjudication")
        return None

    def _is_too_long(self) -> bool:
        """The moves of the opening don't count: nobody has played them."""
        most = self._rules.most_moves
        return bool(most) and self._plies >= 2 * most

    def _by_tablebase(self, position: Position) -> GameEnd | None:
        men = self._rules.syzygy_men
        if not men or self._probe is None or position.board.occupied.bit_count() > men:
            return None
        value = self._probe(position.board)
        if value is None:
            return None
        mover = position.white_to_move
        result = DRAW if value == 0 else won_by(mover if value > 0 else not mover)
        return GameEnd(result, Termination.ADJUDICATION, "Decided by tablebase")


# Asks Syzygy tablebases for the value of a position.

CERTAIN = 2
"""A win or loss that the fifty-move rule does not take away."""


class NoTables(MatchFault):
    """A folder of tablebases that can't be read."""

    def __init__(self, folder: str, why: str) -> None:
        super().__init__(f"The tablebases in {folder} cannot be read: {why}.")


def open_tables(folders: Sequence[str]) -> chess.syzygy.Tablebase:
    """All tables in the folders; nothing is read of them yet. Raises NoTables."""
    tables = chess.syzygy.Tablebase()
    for folder in folders:
        try:
            tables.add_directory(folder)
        except OSError as error:
            raise NoTables(folder, str(error.strerror)) from None
    return tables


def probe_of(tables: chess.syzygy.Tablebase) -> TablebaseProbe:
    """A way to ask them; positions they can't tell about give None."""

    def probe(board: chess.Board) -> int | None:
        # A table's values hold where the fifty-move count begins anew.
        if board.castling_rights or board.halfmove_clock:
            return None
        value = tables.get_wdl(board)
        if value is None:
            return None
        return (value >= CERTAIN) - (value <= -CERTAIN)

    return probe
