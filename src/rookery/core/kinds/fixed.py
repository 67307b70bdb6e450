"""A fixed number of games between two engines, judged by the likelihood of superiority."""

from dataclasses import dataclass

from rookery.core.kinds.kind import Folded, Report
from rookery.core.kinds.pairs import PairedGames
from rookery.core.results import Results
from rookery.core.stats.estimate import estimate_elo
from rookery.core.stats.flags import Flag, fixed_verdict, flag


@dataclass(frozen=True, slots=True)
class Fixed(PairedGames):
    """Play the planned games and stop."""

    @property
    def name(self) -> str:
        return "fixed"

    def folded(self, results: Results, ticket: object | None, report: Report) -> Folded["Fixed"]:
        del results, report
        return Folded(self, ticket)

    def rejudged(self, results: Results) -> "Fixed":
        del results
        return self

    def flag(self, results: Results) -> Flag:
        verdict = fixed_verdict(estimate_elo(results.pentanomial).los)
        return flag(verdict, wins=results.wins, losses=results.losses)

    def resize_objection(self, before: int, after: int) -> str | None:
        return "a run of fixed length may not grow" if after > before else None
