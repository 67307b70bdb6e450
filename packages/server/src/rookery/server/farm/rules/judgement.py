"""Judges a report by what its task has reported before, and by the time that its games must take.

Reports are cumulative, are repeated when an answer gets lost, and may overtake one another. So an
identical report is a repeat and an older one is late; both are harmless, and the task continues.
An impossible report is refused and ends the task.
"""

import enum
from dataclasses import dataclass
from datetime import datetime

from rookery.core.model.engine import time_factor
from rookery.core.model.kinds import Report
from rookery.core.model.machine import Machine
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.core.model.timecontrol import Nodes, is_timed
from rookery.server.farm.rules.observations import UNMEASURED, GamePace

IMPOSSIBLE_SHARE = 0.1
"""Games on the clock that took less than this part of the expected time, over a whole task, were
not played."""
FASTEST = 8.0
"""The fastest machine that is believed, in times of the reference's speed."""
UNMEASURED_SHARE = 0.002
"""The same part for fixed nodes, where the engine's speed is known roughly or not at all."""
MEASURED_SHARE = 0.02
"""The same part where games of this run were measured on machines of this class."""
LEAST_SECONDS = 0.002
"""The shortest possible time of a game."""
LEAST_GAMES = 8
"""The number of too fast games that proves something; a user may report fewer of them within an
hour."""
WATCHED_SECONDS = (10.0, 60.0)
"""The least and the most time for which a machine is watched before its pace is believed; within
these limits it is the length of a game."""


class Weight(enum.Enum):
    """The possible outcomes of judging a report."""

    NEWS = "news"
    REPEAT = "repeat"
    LATE = "late"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome of judging a report, and the reason if it is refused."""

    weight: Weight
    why: str = ""


_NEWS = Judgement(Weight.NEWS)
_REPEAT = Judgement(Weight.REPEAT)
_LATE = Judgement(Weight.LATE)


def judge(run: Run, task: Task, report: Report, machine: Machine) -> Judgement:
    """Judge a report by its task's earlier results, and check that the machine still has the same
    cores."""
    old, new = task.results, report.results
    if machine.cores != task.machine.cores:
        return _refused("the number of cores changed during the task")
    if new == old:
        return _REPEAT
    # The kind judges only new results; an older report just has to agree with what is known.
    if why := run.kind.objection(old, report) if new.games >= old.games else None:
        return _refused(why)
    if not new.covers(old):
        return _LATE if old.covers(new) else _refused("results reported before have changed")
    if new.games > task.games:
        return _refused("more games than the task has")
    return _NEWS


def least_game_seconds(run: Run, machine: Machine, pace: GamePace) -> float:
    """Return the least average time of a game. On the clock it is a tenth of what is expected on a
    machine several times as fast as the reference. Fixed nodes and depth hardly bound it; there it
    is a small part of the measured time, or the time needed to transmit moves."""
    if is_timed(run.plan.time_control):
        factor = time_factor(run.reference_nps, machine.nps) if run.plan.is_scaled else 1.0
        return IMPOSSIBLE_SHARE * run.game_seconds * min(max(factor, 1 / FASTEST), 1.0)
    by_nodes = isinstance(run.plan.time_control, Nodes)
    formula = UNMEASURED_SHARE * run.game_seconds if by_nodes else 0.0
    return max(formula, MEASURED_SHARE * pace.game_seconds(0.0), LEAST_SECONDS)


def is_hasty(task: Task, games: int, least: float, slots: int, now: datetime) -> bool:
    """Whether so many games can't have been played since the task was given out, if each takes at
    least `least` seconds."""
    return (now - task.created).total_seconds() * slots < least * games


def shown_boards(run: Run, games: int, seconds: float) -> float:
    """How many games at once, on machines of the reference's speed, take `seconds` for so many."""
    return games * run.game_seconds / max(seconds, LEAST_SECONDS)


def watched_seconds(run: Run) -> float:
    """How long a machine plays before its pace is believed."""
    least, most = WATCHED_SECONDS
    return min(max(run.game_seconds, least), most)


def late_games(run: Run, task: Task, report: Report, now: datetime) -> int:
    """How many games a late report adds after the end of its run; 0 if they can't be true. They are
    credited to the players but don't count for the result."""
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
