"""How a game stands after each move: over by the rules, by adjudication, or going on."""

from collections.abc import Callable
from dataclasses import dataclass

import chess

from rookery.worker.match.adjudication import Adjudication, DrawCount, ResignCount
from rookery.worker.match.info import Score
from rookery.worker.match.position import Ending, Position
from rookery.worker.match.record import Termination

DRAW = "1/2-1/2"
Probe = Callable[[chess.Board], int | None]
"""What a tablebase says about a position for the side to move: 1, 0, -1, or nothing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a game, the kind of its end and a sentence about it."""

    result: str
    termination: Termination
    reason: str


def won_by(white: bool) -> str:
    return "1-0" if white else "0-1"


def colour(white: bool) -> str:
    return "White" if white else "Black"


class Referee:
    """Judges one game; asked before the first move and after every one that an engine makes."""

    def __init__(self, rules: Adjudication, probe: Probe | None = None) -> None:
        self._rules = rules
        self._probe = probe
        self._resign = ResignCount(rules.resign) if rules.resign else None
        self._draw = DrawCount(rules.draw) if rules.draw else None
        self._plies = 0

    def at_start(self, position: Position) -> Verdict | None:
        """The verdict on an opening that leaves nothing to play."""
        return self.by_rules(position) or self._by_tablebase(position)

    def by_rules(self, position: Position) -> Verdict | None:
        """The end that the rules of chess bring about."""
        ending = position.ending()
        if ending is None:
            return None
        if ending is Ending.CHECKMATE:
            winner = not position.white_to_move
            return Verdict(won_by(winner), Termination.NORMAL, f"{colour(winner)} mates")
        return Verdict(DRAW, Termination.NORMAL, f"Draw by {ending.value}")

    def after_move(self, position: Position, score: Score | None) -> Verdict | None:
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
            reason = f"{colour(not mover)} wins by adjudication"
            return Verdict(won_by(not mover), Termination.ADJUDICATION, reason)
        if drawn or self._is_too_long():
            return Verdict(DRAW, Termination.ADJUDICATION, "Draw by adjudication")
        return None

    def _is_too_long(self) -> bool:
        """The moves of the opening don't count: nobody has played them."""
        most = self._rules.most_moves
        return bool(most) and self._plies >= 2 * most

    def _by_tablebase(self, position: Position) -> Verdict | None:
        men = self._rules.syzygy_men
        if not men or self._probe is None or position.board.occupied.bit_count() > men:
            return None
        value = self._probe(position.board)
        if value is None:
            return None
        mover = position.white_to_move
        result = DRAW if value == 0 else won_by(mover if value > 0 else not mover)
        return Verdict(result, Termination.ADJUDICATION, "Decided by tablebase")
