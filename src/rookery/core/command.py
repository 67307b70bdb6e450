"""What people do to runs, carried out on the working set.

The rules are in `lifecycle`, `modification` and `purge`. A caller looks the run up (in the working
set if it is there, else in the database), asks one of those, and hands the answer to `settle`.
"""

from collections.abc import Sequence
from datetime import datetime

from rookery.core.changes import Changes
from rookery.core.endings import finished_event, settle
from rookery.core.events import Action, about_run
from rookery.core.lifecycle import Actor, Moved, require_owner
from rookery.core.purge import AUTOMATIC, MANUAL, Purged, purge
from rookery.core.run import Run
from rookery.core.task import Task
from rookery.core.workingset import WorkingSet

__all__ = ["purge_after_end", "purge_by_hand", "settle", "submit"]


def submit(working: WorkingSet, run: Run, now: datetime) -> Changes:
    """Take up a new run; it waits for approval."""
    event = about_run(Action.NEW_RUN, run, run.plan.owner, now)
    return settle(working, Moved(run, (event,)), now)


def purge_after_end(
    working: WorkingSet, run: Run, tasks: Sequence[Task], now: datetime
) -> tuple[Purged, Changes]:
    """The purge that a run asked for; a run that was stopped by hand is not revived by it."""
    purged = purge(run, tasks, AUTOMATIC, now, revive=run.decided)
    changes = _carried_out(working, purged, now)
    if run.decided and not purged.revived:
        changes += Changes(events=(finished_event(purged.run, now),))
    return purged, changes


def purge_by_hand(
    working: WorkingSet, run: Run, tasks: Sequence[Task], actor: Actor, now: datetime
) -> tuple[Purged, Changes]:
    """The purge that an owner or approver asks for."""
    require_owner(run, actor)
    purged = purge(run, tasks, MANUAL, now, actor=actor.name)
    return purged, _carried_out(working, purged, now)


def _carried_out(working: WorkingSet, purged: Purged, now: datetime) -> Changes:
    changes = settle(working, Moved(purged.run, purged.events), now)
    return changes + Changes(tasks=tuple(each.struck for each in purged.bad))
