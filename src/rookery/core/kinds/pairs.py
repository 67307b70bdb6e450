"""What the kinds share whose games come in pairs with colours reversed."""

import math
from collections.abc import Mapping

from rookery.core.kinds.kind import Report
from rookery.core.needs import Need
from rookery.core.results import Results, contradiction
from rookery.core.stats.remaining import fixed_games_left
from rookery.core.stats.residuals import WorkerTest, judge_workers

GAMES_PER_PAIR = 2


class PairedGames:
    """Answers that hold unless a kind has its own."""

    __slots__ = ()

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
        """Why these results of pairs can't be true."""
        del before
        step = GAMES_PER_PAIR if report.in_parts else self.step
        if report.results.games % step:
            return f"the number of games is not a multiple of {step}"
        return contradiction(report.results)

    def is_decided(self, results: Results, games: int) -> bool:
        return results.games >= games

    def games_left(self, results: Results, games: int) -> float:
        return fixed_games_left(games=results.games, num_games=games)

    def judge(self, workers: Mapping[str, Results]) -> WorkerTest | None:
        """Compare the workers by the pairs they won, lost and halved."""
        return judge_workers({name: results.pentanomial for name, results in workers.items()})
