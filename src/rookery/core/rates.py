"""Speed of a run and work done by a machine, as people read them."""

from collections.abc import Iterable

from rookery.core.run import Run
from rookery.core.task import Task


def nodes_per_second(tasks: Iterable[Task]) -> float:
    """Over all cores of the active tasks."""
    return sum(task.machine.cores * task.machine.nps for task in tasks if task.active)


def games_per_minute(run: Run, tasks: Iterable[Task]) -> float:
    """What the active tasks of a run should get done."""
    scaled = run.plan.rules.scaled
    slots = sum(
        (task.machine.nps / run.reference_nps if scaled else 1.0)
        * run.demands.slots(task.machine.cores)
        for task in tasks
        if task.active
    )
    return slots * 60 / run.game_seconds


def core_hours(run: Run, games: int) -> float:
    """The work in that many games of a run, in hours of one core of reference speed."""
    return games * run.demands.threads * run.game_seconds / 3600
