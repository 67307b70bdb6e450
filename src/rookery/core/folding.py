"""Judging a report against what its task reported before.

Reports are cumulative, come more than once when an answer gets lost, and may overtake one another.
So an identical report is a repeat and an older one is late; both are harmless, and the task lives
on. What can't be true is refused and ends the task.
"""

import enum
from dataclasses import dataclass
from datetime import datetime

from rookery.core.engine import time_factor
from rookery.core.kinds.kind import Report
from rookery.core.machine import Machine
from rookery.core.run import Run
from rookery.core.scheduling.pace import UNMEASURED, Pace
from rookery.core.task import Task
from rookery.core.timecontrol import Clock, MoveTime, Nodes

IMPOSSIBLE_SHARE = 0.1
"""Games on the clock this much shorter than expected, over a whole task, were not played."""
FASTEST = 8.0
"""No machine is so many times as fast as the reference, whatever it says."""
UNMEASURED_SHARE = 0.002
"""The same share for fixed nodes: how fast an engine searches is known roughly or not at all."""
MEASURED_SHARE = 0.02
"""The same where games of this run have been timed on machines of this kind."""
LEAST_SECONDS = 0.002
"""Nobody plays a game faster, however little there is to think about."""
LEAST_GAMES = 8
"""A few short games prove nothing; so many a user may report within an hour."""


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


def least_game_seconds(run: Run, machine: Machine, pace: Pace) -> float:
    """What a game takes on average, at the very least: a tenth of what the clock lets expect on a
    machine several times as fast as the reference. Fixed nodes and depth bound little; there it is
    a small part of what was measured, or the time that passing moves on takes."""
    if isinstance(run.plan.tc, Clock | MoveTime):
        factor = time_factor(run.reference_nps, machine.nps) if run.plan.rules.scaled else 1.0
        return IMPOSSIBLE_SHARE * run.game_seconds * min(max(factor, 1 / FASTEST), 1.0)
    formula = UNMEASURED_SHARE * run.game_seconds if isinstance(run.plan.tc, Nodes) else 0.0
    return max(formula, MEASURED_SHARE * pace.game_seconds(0.0), LEAST_SECONDS)


def is_hasty(task: Task, games: int, least: float, slots: int, now: datetime) -> bool:
    """Whether so many games can't have been played since the task was given out, each taking at
    least so many seconds."""
    return (now - task.created).total_seconds() * slots < least * games


def late_games(run: Run, task: Task, report: Report, now: datetime) -> int:
    """How many games a report adds that came after the end of its run: none where they can't be
    true. They count for those who played them, not for the result."""
    new = report.results
    if task.bad or run.kind.objection(task.results, report) or not new.covers(task.results):
        return 0
    least, slots = least_game_seconds(run, task.machine, UNMEASURED), run.demands.slots
    hasty = is_hasty(task, new.games, least, slots(task.machine.cores), now)
    if new.games > task.games or (hasty and new.games >= LEAST_GAMES):
        return 0
    return new.games - task.results.games


def _refused(why: str) -> Judgement:
    return Judgement(Weight.REFUSED, why)
