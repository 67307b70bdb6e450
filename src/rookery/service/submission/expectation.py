"""How many games a new run will take: all of them, or as many as a sequential test usually does."""

from rookery.core.kinds import SprtTest
from rookery.core.run import Run
from rookery.core.stats.pace import pace_of


def expected_games(run: Run) -> float:
    """The mean length of a sequential test at the middle of its bounds, where it takes longest."""
    most = float(run.plan.games)
    if not isinstance(run.kind, SprtTest):
        return most
    spec = run.kind.spec
    return min(most, pace_of(spec).walk((spec.elo0 + spec.elo1) / 2).mean_time())
