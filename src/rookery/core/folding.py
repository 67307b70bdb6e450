"""Judging a report against what its task reported before.

Reports are cumulative, come more than once when an answer gets lost, and may overtake one another.
So an identical report is a repeat and an older one is late; both are harmless, and the task lives
on. What can't be true is refused and ends the task.
"""

import enum
from dataclasses import dataclass, replace
from datetime import datetime

from rookery.core.engine import time_factor
from rookery.core.kinds.kind import Report
from rookery.core.machine import Machine
from rookery.core.run import Run
from rookery.core.task import Task

IMPOSSIBLE_SHARE = 0.1
"""Games this much shorter than expected, over a whole task, can't have been played."""
LEAST_GAMES = 8
"""A few short games prove nothing."""


class Weight(enum.Enum):
    """What a report is worth."""

    NEWS = "news"
    REPEAT = "repeat"
    LATE = "late"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a report is worth, and why where it is refused."""

    weight: Weight
    why: str = ""


_NEWS = Judgement(Weight.NEWS)
_REPEAT = Judgement(Weight.REPEAT)
_LATE = Judgement(Weight.LATE)


def judge(run: Run, task: Task, report: Report, machine: Machine) -> Judgement:
    """Compare a report with its task, and its worker with the one the task was given to."""
    old, new = task.results, report.results
    if machine.cores != task.machine.cores:
        return _refused("the number of cores changed during the task")
    if new == old:
        return _REPEAT
    # A kind judges what is new; of older news it is enough that it agrees with what is known.
    if why := run.kind.objection(old, report) if new.games >= old.games else None:
        return _refused(why)
    if not new.covers(old):
        return _LATE if old.covers(new) else _refused("results reported before have changed")
    if new.games > task.games:
        return _refused("more games than the task has")
    return _NEWS


def is_too_fast(run: Run, task: Task, now: datetime) -> bool:
    """Whether so many games can't have been played since the task was given out.

    That is flagged and not refused: a wrong guess of the game length would punish the innocent.
    """
    games = task.results.games
    if games < LEAST_GAMES:
        return False
    factor = time_factor(run.reference_nps, task.machine.nps) if run.plan.rules.scaled else 1.0
    expected = run.game_seconds * factor
    slots = run.demands.slots(task.machine.cores)
    elapsed = (now - task.created).total_seconds()
    return elapsed * slots < IMPOSSIBLE_SHARE * expected * games


def late_games(run: Run, task: Task, report: Report, now: datetime) -> int:
    """How many games a report adds that came after the end of its run: none where they can't be
    true. They count for those who played them, not for the result."""
    new = report.results
    if task.bad or run.kind.objection(task.results, report) or not new.covers(task.results):
        return 0
    if new.games > task.games or is_too_fast(run, replace(task, results=new), now):
        return 0
    return new.games - task.results.games


def _refused(why: str) -> Judgement:
    return Judgement(Weight.REFUSED, why)
