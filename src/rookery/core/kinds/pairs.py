"""What all kinds share whose games come in pairs with colours reversed."""

from collections.abc import Mapping

from rookery.core.kinds.kind import Report
from rookery.core.results import Results, contradiction
from rookery.core.stats.residuals import WorkerTest, judge_workers

GAMES_PER_PAIR = 2


def pair_objection(report: Report, step: int) -> str | None:
    """Why these results of pairs can't be true (contract 3.4 and 9.2)."""
    if report.results.games % step:
        return f"the number of games is not a multiple of {step}"
    return contradiction(report.results)


def judge_pairs(workers: Mapping[str, Results]) -> WorkerTest | None:
    """Compare the workers by the pairs they won, lost and halved (contract 11.7)."""
    return judge_workers({name: results.pentanomial for name, results in workers.items()})
