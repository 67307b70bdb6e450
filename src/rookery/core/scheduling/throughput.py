"""The share of a run: what was asked for, by length, user and progress."""

from collections import Counter
from collections.abc import Iterable

from rookery.core.run import Run
from rookery.core.timecontrol import Clock, TimeControl

LEAST, MOST = 1, 500
"""Per cent; a share can't be asked for beyond these."""
CROWD = 36
"""How many runs of one user, squared, halve the share of each."""
LENGTH_EXPONENT = 0.774
SETTLED_GAMES = 200_000
REFERENCE = Clock(10, 0.1)


def length_ratio(tc: TimeControl, threads: int, nps: float) -> float:
    """How much longer a game is than the reference test's, in core seconds."""
    return threads * tc.game_seconds(nps) / REFERENCE.game_seconds(nps)


def share(run: Run, busy_runs: int) -> float:
    """The internal throughput of a run whose owner has that many runs with workers."""
    plan = run.plan
    ratio = length_ratio(plan.tc, plan.threads, run.reference_nps)
    progress = min(run.tally.results.games / SETTLED_GAMES, 1)
    return float(
        min(max(plan.throughput, LEAST), MOST)
        * max(1.0, ratio) ** LENGTH_EXPONENT
        * CROWD
        / (CROWD + busy_runs**2)
        * (1 + progress + run.kind.bonus)
    )


def shares(runs: Iterable[Run]) -> dict[str, float]:
    """The shares of all unfinished runs, by id; to be renewed once a minute."""
    runs = list(runs)
    busy = Counter(run.plan.owner for run in runs if run.tally.workers > 0)
    return {run.id: share(run, busy[run.plan.owner]) for run in runs}
