"""How tasks and runs end, and what is told about it."""

from dataclasses import replace
from datetime import datetime

from rookery.core import lifecycle
from rookery.core.changes import Changes
from rookery.core.events import Action, Event, about_run, about_task
from rookery.core.lifecycle import Moved
from rookery.core.purge import Purging
from rookery.core.run import Run
from rookery.core.task import Task
from rookery.core.workingset import WorkingSet


def end_task(working: WorkingSet, task: Task, now: datetime, *events: Event) -> Changes:
    """Make an active task inactive; a task that is not active any more stays as it is."""
    if working.task((task.run, task.id)) is None:
        return Changes()
    run, closed = working.close(task)
    excess = (excess_event(run, closed, now),) if closed.results.excessive() else ()
    return Changes(runs=(run,), tasks=(closed,), events=(*excess, *events))


def fail_task(working: WorkingSet, task: Task, message: str, now: datetime) -> Changes:
    run = working.runs()[task.run]
    event = about_task(Action.FAILED_TASK, run, task, now, message)
    return end_task(working, task, now, event)


def bury_task(working: WorkingSet, task: Task, now: datetime) -> Changes:
    """End a task that nobody has heard of for too long."""
    run = working.runs()[task.run]
    return end_task(working, task, now, about_task(Action.DEAD_TASK, run, task, now))


def excess_event(run: Run, task: Task, now: datetime) -> Event:
    counts = f"{task.results.crashes} crashes, {task.results.time_losses} time losses"
    message = f"{counts} in {task.results.games} games"
    return about_task(Action.CRASH_OR_TIME, run, task, now, message)


def finish_decided(working: WorkingSet, run: Run, now: datetime) -> Changes:
    """Stop a run that has nothing left to play. Where it is to be purged, that may revive it, and
    only then is it known whether it has ended."""
    stopped = lifecycle.stopped(run)
    stopped = replace(stopped, status=replace(stopped.status, sole=working.sole(run)))
    told = () if is_purge_due(stopped) else (finished_event(stopped, now),)
    return settle(working, Moved(stopped, told), now)


def finished_event(run: Run, now: datetime) -> Event:
    results = run.tally.results
    sole = f", decided by one {run.status.sole}" if run.status.sole else ""
    message = f"{results.games} games: {results.wins} won, {results.losses} lost{sole}"
    return about_run(Action.FINISHED_RUN, run, run.plan.owner, now, message)


def settle(working: WorkingSet, moved: Moved, now: datetime) -> Changes:
    """Carry a move of the life cycle out: keep, take up or let go the run, and end its tasks."""
    if not moved.changed:
        return Changes()
    run, before = moved.run, working.runs().get(moved.run.id)
    ended = before is not None and run.status.finished
    if ended:
        # How long its games are kept counts from here.
        run = replace(run, updated=now)
    elif before is None and not run.status.finished:
        run = working.renewed(run)
    excessive = working.excessive(run.id) if run.status.finished else ()
    excess = tuple(excess_event(run, task, now) for task in excessive)
    closings = working.settle(run, now)
    return Changes(
        runs=(run,),
        closings=closings,
        events=(*excess, *moved.events),
        purges=(Purging(run.id, revive=run.decided),) if ended and is_purge_due(run) else (),
    )


def is_purge_due(run: Run) -> bool:
    status = run.status
    at_rest = status.finished and not status.failed and not status.deleted
    return at_rest and run.plan.auto_purge and run.kind.may_purge
