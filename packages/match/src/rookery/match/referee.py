"""Judges games by the rules of chess, by tablebases and by the engines' scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import chess
import chess.syzygy

from rookery.core.model.plan import Draw, Resign
from rookery.match.engine_output import Score
from rookery.match.job import Adjudication, MatchFault, Termination
from rookery.match.position import Position, RuleEnding

# Adjudicates games whose outcome is clear from the engines' scores, exactly as fastchess does.
#
# Resign: the side that just moved has given its own position at most minus `score` centipawns, or a
# mate against itself, `moves` times in a row. Two-sided: the last 2 * `moves` scores of both sides
# were that far from zero, and the side that just moved is the losing one.
#
# Draw: the last 2 * `moves` scores of both sides were within `score` of zero, since the last
# capture or pawn move, and `from_move` full moves were completed, counted from the opening's own
# number.
#
# A move without a score restarts the count.


class ResignCount:
    """Counts scores for resignation in one game."""

    __slots__ = ("_counts", "_rule")

    def __init__(self, rule: Resign) -> None:
        self._rule = rule
        self._counts = [0, 0]

    def is_due(self, score: Score | None, *, white: bool) -> bool:
        """Whether the side that moved with this score must resign."""
        place = 0 if self._rule.two_sided else int(white)
        self._counts[place] = self._counts[place] + 1 if self._counted(score) else 0
        needed = self._rule.moves * (2 if self._rule.two_sided else 1)
        return score is not None and score.value < 0 and self._counts[place] >= needed

    def _counted(self, score: Score | None) -> bool:
        if score is None:
            return False
        if self._rule.two_sided:
            return score.mate or abs(score.value) >= self._rule.score
        return score.value < 0 if score.mate else score.value <= -self._rule.score


class DrawCount:
    """Counts scores for a draw in one game."""

    __slots__ = ("_count", "_rule")

    def __init__(self, rule: Draw) -> None:
        self._rule = rule
        self._count = 0

    def is_due(self, score: Score | None, *, halfmove_clock: int, completed_moves: int) -> bool:
        """Whether the game is a draw after a move with this score."""
        if halfmove_clock == 0:
            self._count = 0
        quiet = score is not None and not score.mate and abs(score.value) <= self._rule.score
        self._count = self._count + 1 if quiet else 0
        return self._count >= 2 * self._rule.moves and completed_moves >= self._rule.from_move


# The state of a game after each move: ended by the rules, adjudicated, or continuing.

DRAW = "1/2-1/2"
TablebaseProbe = Callable[[chess.Board], int | None]
"""The tablebase value of a position for the side to move: 1, 0, -1, or None if unknown."""


@dataclass(frozen=True, slots=True)
class GameEnd:
    """The result of a game, how it ended, and a sentence about it."""

    result: str
    termination: Termination
    reason: str


def won_by(white: bool) -> str:
    return "1-0" if white else "0-1"


def colour_name(white: bool) -> str:
    return "White" if white else "Black"


class Referee:
    """Judges one game. It is asked before the first move and after every move by an engine."""

    def __init__(self, rules: Adjudication, probe: TablebaseProbe | None = None) -> None:
        self._rules = rules
        self._probe = probe
        self._resign = ResignCount(rules.resign) if rules.resign else None
        self._draw = DrawCount(rules.draw) if rules.draw else None
        self._plies = 0

    def judge_opening(self, position: Position) -> GameEnd | None:
        """Return the verdict on an opening after which nothing is left to play."""
        return self.judge_by_rules(position) or self._judge_by_tablebase(position)

    def judge_by_rules(self, position: Position) -> GameEnd | None:
        """Return the end by the rules of chess, if there is one."""
        ending = position.ending()
        if ending is None:
            return None
        if ending is RuleEnding.CHECKMATE:
            winner = not position.white_to_move
            return GameEnd(won_by(winner), Termination.NORMAL, f"{colour_name(winner)} mates")
        return GameEnd(DRAW, Termination.NORMAL, f"Draw by {ending.value}")

    def judge_move(self, position: Position, score: Score | None) -> GameEnd | None:
        """Return the verdict after a move with this score.

        The rules take precedence over tablebases, those over scores, and scores over the length.
        """
        mover = not position.white_to_move
        self._plies += 1
        # Both count every move, so both are called before either decides.
        resigns = self._resign is not None and self._resign.is_due(score, white=mover)
        drawn = self._draw is not None and self._draw.is_due(
            score,
            halfmove_clock=position.board.halfmove_clock,
            completed_moves=position.board.fullmove_number - 1,
        )
        if over := self.judge_by_rules(position) or self._judge_by_tablebase(position):
            return over
        if resigns:
            reason = f"{colour_name(not mover)} wins by adjudication"
            return GameEnd(won_by(not mover), Termination.ADJUDICATION, reason)
        if drawn or self._is_too_long():
            return GameEnd(DRAW, Termination.ADJUDICATION, "Draw by adjudication")
        return None

    def _is_too_long(self) -> bool:
        """Whether the game has reached the limit of moves. Moves of the opening do not count."""
        most = self._rules.most_moves
        return bool(most) and self._plies >= 2 * most

    def _judge_by_tablebase(self, position: Position) -> GameEnd | None:
        men = self._rules.syzygy_men
        if not men or self._probe is None or position.board.occupied.bit_count() > men:
            return None
        value = self._probe(position.board)
        if value is None:
            return None
        mover = position.white_to_move
        result = DRAW if value == 0 else won_by(mover if value > 0 else not mover)
        return GameEnd(result, Termination.ADJUDICATION, "Decided by tablebase")


# Looks up positions in Syzygy tablebases.

CERTAIN = 2
"""A win or loss that the fifty-move rule does not cancel."""


def open_tables(folders: Sequence[str]) -> chess.syzygy.Tablebase:
    """Open all tables in the folders, without reading them yet. Raises MatchFault."""
    tables = chess.syzygy.Tablebase()
    for folder in folders:
        try:
            tables.add_directory(folder)
        except OSError as error:
            why = f"The tablebases in {folder} cannot be read: {error.strerror}."
            raise MatchFault(why) from None
    return tables


def make_probe(tables: chess.syzygy.Tablebase) -> TablebaseProbe:
    """Return a function that looks up positions; it returns None for positions without a value."""

    def probe(board: chess.Board) -> int | None:
        # The values of tables are valid only when the fifty-move count is zero.
        if board.castling_rights or board.halfmove_clock:
            return None
        value = tables.get_wdl(board)
        if value is None:
            return None
        return (value >= CERTAIN) - (value <= -CERTAIN)

    return probe
