"""Purging: removes the results of tasks or of a worker that can't be trusted.

Tasks with too many crashes or time losses are removed. Only if there are none, the worker whose
results differ most from those of the others is removed, if they differ enough. Then the run is
judged anew, and continues if it is no longer decided.

    due --all tasks looked at--> culprit known --its tasks struck, portion by portion--> concluded

Theory of operation. A run may have a hundred thousand tasks, so they are examined and struck out in
portions. After each portion the run's sums agree with its tasks; the run is judged after the last
one. The progress of the purge is a value that is stored with each portion, so that it can be
continued after a crash.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from rookery.core.model.events import SYSTEM, Action, Event, about_run
from rookery.core.model.run import HAS_FAILED, Run, RunFault
from rookery.core.model.task import NOTHING, Results, Task
from rookery.core.stats.residuals import (
    AUTOMATIC,
    EXCESS_RESIDUAL,
    MANUAL,
    Colour,
    PurgeRule,
    bad_worker,
)
from rookery.server.farm.rules import lifecycle

__all__ = [
    "AUTOMATIC",
    "MANUAL",
    "BadTask",
    "PurgeSearch",
    "PurgeTarget",
    "Purged",
    "PurgedTotals",
    "Purging",
]

MOST_NAMED = 50
"""The most workers that a purge names; the rest is left out."""


@dataclass(frozen=True, slots=True)
class BadTask:
    """A task as it was before its results were struck out, and why."""

    task: Task
    residual: float
    colour: Colour

    @property
    def struck(self) -> Task:
        """The task after its results were struck out."""
        return replace(self.task.closed(), bad=True, results=NOTHING)


@dataclass(frozen=True, slots=True)
class PurgeTarget:
    """The tasks to remove: those of one worker by its key, or, if `worker` is empty, all with too
    many crashes or time losses."""

    residual: float
    colour: Colour
    worker: str = ""

    def takes(self, task: Task) -> bool:
        if task.bad:
            return False
        return task.machine.key == self.worker if self.worker else task.results.excessive()


@dataclass(frozen=True, slots=True)
class PurgedTotals:
    """The sums of what was removed so far."""

    tasks: int = 0
    games: int = 0
    workers: tuple[str, ...] = ()

    def plus(self, bad: Iterable[BadTask]) -> "PurgedTotals":
        struck = [each.task for each in bad]
        names = sorted({*self.workers, *(task.machine.long_name for task in struck)})
        games = sum(task.results.games for task in struck)
        return PurgedTotals(self.tasks + len(struck), self.games + games, tuple(names[:MOST_NAMED]))


@dataclass(frozen=True, slots=True)
class Purging:
    """A purge that is due or under way; `revive` lets the run continue if it is undecided
    afterwards."""

    run: str
    actor: str = SYSTEM
    revive: bool = True
    culprit: PurgeTarget | None = None
    toll: PurgedTotals = PurgedTotals()

    @property
    def rule(self) -> PurgeRule:
        return AUTOMATIC if self.actor == SYSTEM else MANUAL


@dataclass(frozen=True, slots=True)
class Purged:
    """The run after a purge, and what was removed; `revived` if the run continues. A purge that is
    still `under_way` has more to remove."""

    run: Run
    toll: PurgedTotals
    events: tuple[Event, ...] = ()
    under_way: bool = False

    @property
    def revived(self) -> bool:
        return not self.run.status.finished


class PurgeSearch:
    """Examines all tasks of a run, in portions, to find those that must be removed."""

    def __init__(self) -> None:
        self._excessive = False
        self._by_worker: dict[str, Results] = {}

    def look(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            if not task.bad:
                self._excessive = self._excessive or task.results.excessive()
                key = task.machine.key
                self._by_worker[key] = self._by_worker.get(key, NOTHING) + task.results

    def verdict(self, run: Run, rule: PurgeRule) -> PurgeTarget | None:
        """Return what to remove; None if nothing. Slow if very many workers played."""
        if self._excessive:
            return PurgeTarget(EXCESS_RESIDUAL, Colour.RED)
        test = run.kind.judge(self._by_worker)
        worst = bad_worker(test, rule)
        if test is None or worst is None:
            return None
        residual = test.residuals[worst]
        return PurgeTarget(residual, test.colour(residual), worst)


def check(run: Run, now: datetime) -> None:
    """Raise a RunFault if the run can't be purged."""
    if not run.status.finished:
        raise RunFault("the run is not finished yet")
    if run.status.failed:
        raise RunFault(HAS_FAILED)
    if not run.kind.may_purge:
        raise RunFault("results of a run of kind {kind} can't be purged", kind=run.kind.name)
    lifecycle.require_young(run, now)


@dataclass(frozen=True, slots=True)
class PurgedPortion:
    """The run and its purge after a portion of tasks was struck out."""

    run: Run
    purging: Purging
    bad: tuple[BadTask, ...]


def strike(run: Run, purging: Purging, tasks: Iterable[Task]) -> PurgedPortion:
    """Remove a portion of the tasks from a run's sums; the run is not judged yet."""
    culprit = purging.culprit
    if culprit is None:
        return PurgedPortion(run, purging, ())
    bad = tuple(
        BadTask(task, culprit.residual, culprit.colour) for task in tasks if culprit.takes(task)
    )
    left = run.with_tally(run.tally.without(each.task for each in bad))
    return PurgedPortion(left, replace(purging, toll=purging.toll.plus(bad)), bad)


def conclude(run: Run, purging: Purging, now: datetime) -> Purged:
    """Judge a run anew after everything was removed."""
    toll = purging.toll
    after = _judged(run, revive=purging.revive) if toll.tasks else run
    message = _message(toll, revived=bool(toll.tasks) and not after.status.finished)
    event = about_run(Action.PURGE_RUN, after, purging.actor, now, message)
    return Purged(after, toll, (event,))


def _judged(run: Run, *, revive: bool) -> Run:
    results = run.tally.results
    after = replace(run, kind=run.kind.rejudged(results))
    if revive and not after.decided:
        return lifecycle.reopened(after)
    return replace(after, status=replace(after.status, flag=after.kind.outcome(results).flag))


def _message(toll: PurgedTotals, *, revived: bool) -> str:
    if not toll.tasks:
        return "no bad tasks found"
    end = ", the run plays on" if revived else ""
    return f"{toll.tasks} tasks with {toll.games} games taken out ({', '.join(toll.workers)}){end}"
