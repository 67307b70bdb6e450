"""A fixed number of games between two engines; the end is judged by the likelihood of superiority."""

import math
from dataclasses import dataclass

from rookery.core.kinds.kind import Colour, Folded, Report
from rookery.core.kinds.pairs import GAMES_PER_PAIR, is_ahead, pair_objection, residual_row
from rookery.core.needs import Need
from rookery.core.results import Results
from rookery.core.stats.elo import pentanomial_elo

SURE = 0.95


@dataclass(frozen=True, slots=True)
class Fixed:
    """Play the planned games and stop."""

    @property
    def name(self) -> str:
        return "fixed"

    @property
    def step(self) -> int:
        return GAMES_PER_PAIR

    @property
    def bonus(self) -> float:
        return 0.0

    @property
    def core_limit(self) -> float:
        return math.inf

    @property
    def may_purge(self) -> bool:
        return True

    def needs(self) -> tuple[Need, ...]:
        return ()

    def objection(self, before: Results, report: Report) -> str | None:
        del before
        return pair_objection(report, self.step)

    def folded(self, results: Results, ticket: object | None, report: Report) -> Folded["Fixed"]:
        del results, report
        return Folded(self, ticket)

    def rejudged(self, results: Results) -> "Fixed":
        del results
        return self

    def is_decided(self, results: Results, games: int) -> bool:
        return results.games >= games

    def colour(self, results: Results) -> Colour:
        likelihood = pentanomial_elo(results.pentanomial).los
        if likelihood > SURE:
            return Colour.GREEN
        rejected = likelihood < 1 - SURE
        return Colour.YELLOW if rejected and is_ahead(results) else Colour.NONE

    def resize_objection(self, before: int, after: int) -> str | None:
        return "a run of fixed length may not grow" if after > before else None

    def residual_row(self, results: Results) -> tuple[int, ...] | None:
        return residual_row(results)
