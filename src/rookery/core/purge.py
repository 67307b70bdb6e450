"""Purging: taking out the results of tasks or of a worker that can't be trusted (contract 10.4).

First go tasks with too many crashes or time losses. Only where there are none, the one worker
whose results differ most from those of the others goes, if they differ enough. Then the run is
judged anew, and plays on if it is no longer decided.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rookery.core import faults, lifecycle
from rookery.core.events import SYSTEM, Action, Event, about_run
from rookery.core.results import NOTHING, Results
from rookery.core.run import Run
from rookery.core.stats.residuals import (
    AUTOMATIC,
    EXCESS_RESIDUAL,
    MANUAL,
    Colour,
    PurgeRule,
    bad_worker,
)
from rookery.core.task import Task

__all__ = ["AUTOMATIC", "MANUAL", "BadTask", "Purged", "purge"]


@dataclass(frozen=True, slots=True)
class BadTask:
    """A task as it was before its results were struck out, and why."""

    task: Task
    residual: float
    colour: Colour

    @property
    def struck(self) -> Task:
        """What is left of it."""
        return replace(self.task.closed(), bad=True, results=NOTHING)


@dataclass(frozen=True, slots=True)
class Purged:
    """The run after a purge, and what was taken out; `revived` when it plays on."""

    run: Run
    bad: tuple[BadTask, ...] = ()
    events: tuple[Event, ...] = ()

    @property
    def revived(self) -> bool:
        return not self.run.status.finished


def purge(
    run: Run,
    tasks: Sequence[Task],
    rule: PurgeRule,
    now: datetime,
    *,
    actor: str = SYSTEM,
    revive: bool = True,
) -> Purged:
    """Purge a finished run, given all of its tasks; `revive` lets it play on if undecided."""
    _check(run, now)
    bad = _excessive(tasks) or _of_worst_worker(run, tasks, rule)
    after = _without(run, bad, revive=revive) if bad else run
    message = _message(bad, revived=bool(bad) and not after.status.finished)
    event = about_run(Action.PURGE_RUN, after, actor, now, message)
    return Purged(after, bad, (event,))


def _check(run: Run, now: datetime) -> None:
    if not run.status.finished:
        raise faults.StillPlaying
    if run.status.failed:
        raise faults.HasFailed
    if not run.kind.may_purge:
        raise faults.NothingToPurge(kind=run.kind.name)
    lifecycle.require_young(run, now)


def _excessive(tasks: Iterable[Task]) -> tuple[BadTask, ...]:
    return tuple(
        BadTask(task, EXCESS_RESIDUAL, Colour.RED)
        for task in tasks
        if not task.bad and task.results.excessive()
    )


def _of_worst_worker(run: Run, tasks: Iterable[Task], rule: PurgeRule) -> tuple[BadTask, ...]:
    sound = [task for task in tasks if not task.bad]
    test = run.kind.judge(by_worker(sound))
    worst = bad_worker(test, rule)
    if test is None or worst is None:
        return ()
    residual = test.residuals[worst]
    colour = test.colour(residual)
    return tuple(BadTask(task, residual, colour) for task in sound if task.machine.key == worst)


def by_worker(tasks: Iterable[Task]) -> dict[str, Results]:
    """The results of each worker process over all of its tasks."""
    sums: dict[str, Results] = {}
    for task in tasks:
        key = task.machine.key
        sums[key] = sums.get(key, NOTHING) + task.results
    return sums


def _without(run: Run, bad: Iterable[BadTask], *, revive: bool) -> Run:
    tally = run.tally.without(each.task for each in bad)
    after = replace(run, tally=tally, kind=run.kind.rejudged(tally.results))
    if revive and not after.decided:
        return lifecycle.reopened(after)
    return replace(after, status=replace(after.status, flag=after.kind.flag(tally.results)))


def _message(bad: Sequence[BadTask], *, revived: bool) -> str:
    if not bad:
        return "no bad tasks found"
    workers = sorted({each.task.machine.long_name for each in bad})
    games = sum(each.task.results.games for each in bad)
    end = ", the run plays on" if revived else ""
    return f"{len(bad)} tasks with {games} games taken out ({', '.join(workers)}){end}"
