"""What all kinds share whose games come in pairs with colours reversed."""

from rookery.core.kinds.kind import Report
from rookery.core.results import Results, contradiction

GAMES_PER_PAIR = 2


def pair_objection(report: Report, step: int) -> str | None:
    """Why these results of pairs can't be true (contract 3.4 and 9.2)."""
    if report.results.games % step:
        return f"the number of games is not a multiple of {step}"
    return contradiction(report.results)


def residual_row(results: Results) -> tuple[int, int, int]:
    """Pairs won, lost and even: what the machines of a run are compared by (contract 11.7)."""
    p = results.pentanomial
    return p[3] + p[4], p[0] + p[1], p[2]


def is_ahead(results: Results) -> bool:
    return results.wins > results.losses
