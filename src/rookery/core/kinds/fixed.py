"""A fixed number of games between two engines, judged by the likelihood of superiority."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rookery.core.kinds.kind import Folded, Report
from rookery.core.kinds.pairs import GAMES_PER_PAIR, judge_pairs, pair_objection
from rookery.core.needs import Need
from rookery.core.results import Results
from rookery.core.stats.estimate import estimate_elo
from rookery.core.stats.flags import Flag, fixed_verdict, flag
from rookery.core.stats.remaining import fixed_games_left
from rookery.core.stats.residuals import WorkerTest


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

    def games_left(self, results: Results, games: int) -> float:
        return fixed_games_left(games=results.games, num_games=games)

    def flag(self, results: Results) -> Flag:
        verdict = fixed_verdict(estimate_elo(results.pentanomial).los)
        return flag(verdict, wins=results.wins, losses=results.losses)

    def resize_objection(self, before: int, after: int) -> str | None:
        return "a run of fixed length may not grow" if after > before else None

    def judge(self, workers: Mapping[str, Results]) -> WorkerTest | None:
        return judge_pairs(workers)
