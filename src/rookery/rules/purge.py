"""Purging: taking out the results of tasks or of a worker that can't be trusted.

First go tasks with too many crashes or time losses. Only where there are none, the one worker
whose results differ most from those of the others goes, if they differ enough. Then the run is
judged anew, and plays on if it is no longer decided.

    due --all tasks looked at--> culprit known --its tasks struck, portion by portion--> concluded

Theory of operation. A run may have a hundred thousand tasks, so that neither looking at them nor
striking them out is done in one go. After each portion the run's sums agree with its tasks; it is
judged when the last one is done. What is under way is a value that is stored with each portion:
whoever comes after a crash goes on with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from rookery.model.events import SYSTEM, Action, Event, about_run
from rookery.model.run import HasFailed, NothingToPurge, Run, StillPlaying
from rookery.model.task import NOTHING, Results, Task
from rookery.rules import lifecycle
from rookery.stats.residuals import (
    AUTOMATIC,
    EXCESS_RESIDUAL,
    MANUAL,
    Colour,
    PurgeRule,
    bad_worker,
)

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
"""Workers that a purge names; of more, the rest is passed over."""


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
class PurgeTarget:
    """Which tasks go: those of one worker by its key, or without one all that crashed or lost on
    time too often."""

    residual: float
    colour: Colour
    worker: str = ""

    def takes(self, task: Task) -> bool:
        if task.bad:
            return False
        return task.machine.key == self.worker if self.worker else task.results.excessive()


@dataclass(frozen=True, slots=True)
class PurgedTotals:
    """What was taken out so far."""

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
    """A purge that is due or under way; `revive` lets the run play on if it is undecided then."""

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
    """The run after a purge, and what was taken out; `revived` when it plays on. A purge that is
    still under way has more to take out."""

    run: Run
    toll: PurgedTotals
    events: tuple[Event, ...] = ()
    under_way: bool = False

    @property
    def revived(self) -> bool:
        return not self.run.status.finished


class PurgeSearch:
    """Looks at all tasks of a run, portion by portion, and finds out which of them are to go."""

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
        """Takes a while where very many workers played."""
        if self._excessive:
            return PurgeTarget(EXCESS_RESIDUAL, Colour.RED)
        test = run.kind.judge(self._by_worker)
        worst = bad_worker(test, rule)
        if test is None or worst is None:
            return None
        residual = test.residuals[worst]
        return PurgeTarget(residual, test.colour(residual), worst)


def check(run: Run, now: datetime) -> None:
    """Raises a RunFault where there is nothing to purge."""
    if not run.status.finished:
        raise StillPlaying
    if run.status.failed:
        raise HasFailed
    if not run.kind.may_purge:
        raise NothingToPurge(kind=run.kind.name)
    lifecycle.require_young(run, now)


@dataclass(frozen=True, slots=True)
class Struck:
    """The run and its purge after a portion of tasks was struck out."""

    run: Run
    purging: Purging
    bad: tuple[BadTask, ...]


def strike(run: Run, purging: Purging, tasks: Iterable[Task]) -> Struck:
    """Take a portion of the tasks out of a run's sums; it is not judged by them yet."""
    culprit = purging.culprit
    if culprit is None:
        return Struck(run, purging, ())
    bad = tuple(
        BadTask(task, culprit.residual, culprit.colour) for task in tasks if culprit.takes(task)
    )
    left = run.with_tally(run.tally.without(each.task for each in bad))
    return Struck(left, replace(purging, toll=purging.toll.plus(bad)), bad)


def conclude(run: Run, purging: Purging, now: datetime) -> Purged:
    """Judge a run anew once all that was to go is gone."""
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
    return replace(after, status=replace(after.status, flag=after.kind.flag(results)))


def _message(toll: PurgedTotals, *, revived: bool) -> str:
    if not toll.tasks:
        return "no bad tasks found"
    end = ", the run plays on" if revived else ""
    return f"{toll.tasks} tasks with {toll.games} games taken out ({', '.join(toll.workers)}){end}"
