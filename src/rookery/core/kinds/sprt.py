"""A sequential test of two engines: it ends as soon as the results favour one of two hypotheses."""

import math
from dataclasses import dataclass

from rookery.core.kinds.kind import Colour, Folded, Report
from rookery.core.kinds.pairs import GAMES_PER_PAIR, is_ahead, pair_objection, residual_row
from rookery.core.needs import Need
from rookery.core.results import Results
from rookery.core.stats.sprt import Sprt, SprtState, Verdict

NEAR_SUCCESS = 2.0
"""A likelihood ratio from which a test is helped to its end (contract 8.6)."""


@dataclass(frozen=True, slots=True)
class SprtTest:
    """The hypotheses and where the test stands; evaluated at every report, in order."""

    spec: Sprt
    state: SprtState = SprtState()

    @property
    def name(self) -> str:
        return "sprt"

    @property
    def step(self) -> int:
        return GAMES_PER_PAIR * self.spec.batch_size

    @property
    def bonus(self) -> float:
        if self.state.llr <= NEAR_SUCCESS:
            return 0.0
        return 0.2 if self.spec.elo0 > 0 else 0.1

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

    def folded(self, results: Results, ticket: object | None, report: Report) -> Folded["SprtTest"]:
        del report
        return Folded(self.rejudged(results), ticket)

    def rejudged(self, results: Results) -> "SprtTest":
        state = self.state.after(self.spec, results.pentanomial, results.trinomial)
        return SprtTest(self.spec, state)

    def is_decided(self, results: Results, games: int) -> bool:
        return self.state.verdict is not Verdict.RUNNING or results.games >= games

    def colour(self, results: Results) -> Colour:
        if self.state.verdict is Verdict.ACCEPTED:
            return Colour.GREEN
        rejected = self.state.verdict is Verdict.REJECTED
        return Colour.YELLOW if rejected and is_ahead(results) else Colour.NONE

    def resize_objection(self, before: int, after: int) -> str | None:
        del before, after
        return None

    def residual_row(self, results: Results) -> tuple[int, ...] | None:
        return residual_row(results)
