"""The score of a match, added up from its finished games and not from fastchess's own reports.

fastchess counts games from 1 and plays games 2k - 1 and 2k as a pair on one opening.
"""

from dataclasses import replace

from rookery.core.results import NOTHING, Results
from rookery.worker.fastchess.events import Ending, GameFinished, Outcome

CRASHES = (Ending.CRASH, Ending.STALL)


class Tally:
    """Counts whole pairs for one engine; a single game waits for its partner. One writer."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._waiting: dict[int, GameFinished] = {}
        self.results: Results = NOTHING
        """Whole pairs only, so that games and pentanomial always agree."""

    @property
    def waiting(self) -> int:
        """Games whose partner is still being played."""
        return len(self._waiting)

    def add(self, game: GameFinished) -> bool:
        """Count a game; whether a pair became whole. Games without a result do not count."""
        if self._engine not in (game.white, game.black) or game.outcome is Outcome.NONE:
            return False
        pair = (game.game - 1) // 2
        partner = self._waiting.pop(pair, None)
        if partner is None:
            self._waiting[pair] = game
            return False
        self.results += self._pair(partner, game)
        return True

    def _pair(self, first: GameFinished, second: GameFinished) -> Results:
        both = self._single(first) + self._single(second)
        bins = [0, 0, 0, 0, 0]
        bins[2 * both.wins + both.draws] = 1
        ll, ld, even, wd, ww = bins
        return replace(both, pentanomial=(ll, ld, even, wd, ww))

    def _single(self, game: GameFinished) -> Results:
        faults = Results(
            crashes=int(game.ending in CRASHES), time_losses=int(game.ending is Ending.TIME)
        )
        if game.loser is None:
            return faults + Results(draws=1)
        return faults + (Results(losses=1) if game.loser == self._engine else Results(wins=1))
