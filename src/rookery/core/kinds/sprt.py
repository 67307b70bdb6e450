"""A sequential test of two engines: it ends as soon as the results favour one of two hypotheses."""

from dataclasses import dataclass

from rookery.core.kinds.kind import Folded, Report
from rookery.core.kinds.pairs import GAMES_PER_PAIR, PairedGames
from rookery.core.results import Results
from rookery.core.stats.flags import Flag, flag
from rookery.core.stats.remaining import sprt_games_left
from rookery.core.stats.sprt import Sprt, SprtState, Verdict

NEAR_SUCCESS = 2.0
"""A likelihood ratio from which a test is helped to its end."""
FRESH = SprtState()


@dataclass(frozen=True, slots=True)
class SprtTest(PairedGames):
    """The hypotheses and where the test stands; evaluated at every report, in order."""

    spec: Sprt
    state: SprtState = FRESH

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

    def folded(self, results: Results, ticket: object | None, report: Report) -> Folded["SprtTest"]:
        del report
        return Folded(self.rejudged(results), ticket)

    def rejudged(self, results: Results) -> "SprtTest":
        state = self.state.after(self.spec, results.pentanomial, results.trinomial)
        return SprtTest(self.spec, state)

    def is_decided(self, results: Results, games: int) -> bool:
        return self.state.verdict is not Verdict.RUNNING or results.games >= games

    def games_left(self, results: Results, games: int) -> float:
        return sprt_games_left(self.spec, self.state, games=results.games, num_games=games)

    def flag(self, results: Results) -> Flag:
        return flag(self.state.verdict, wins=results.wins, losses=results.losses)

    def resize_objection(self, before: int, after: int) -> str | None:
        del before, after
        return None
