"""What people do to runs, carried out on the working set.

The rules are in `lifecycle`, `modification` and `purge`. A caller looks the run up (in the working
set if it is there, else in the database), asks one of those, and hands the answer to `settle`.
"""

from datetime import datetime

from rookery.model.events import SYSTEM, Action, about_run
from rookery.model.run import Run
from rookery.rules import purge
from rookery.rules.answers import Changes
from rookery.rules.lifecycle import Actor, Moved, require_owner
from rookery.rules.purge import Purged, Purging
from rookery.rules.working_set import WorkingSet, finished_event, settle

__all__ = ["begin_purge", "conclude_purge", "drop_purge", "settle", "submit"]


def submit(working: WorkingSet, run: Run, now: datetime) -> Changes:
    """Take up a new run; it waits for approval."""
    event = about_run(Action.NEW_RUN, run, run.plan.owner, now)
    return settle(working, Moved(run, (event,)), now)


def begin_purge(run: Run, actor: Actor, now: datetime) -> Purging:
    """The purge that an owner or approver asks for; raises a RunFault."""
    require_owner(run, actor)
    purge.check(run, now)
    return Purging(run.id, actor.name)


def conclude_purge(
    working: WorkingSet, run: Run, purging: Purging, now: datetime
) -> tuple[Purged, Changes]:
    """Judge the run anew. Where its purge was due at its end, only now is it known to be over."""
    purged = purge.conclude(run, purging, now)
    changes = settle(working, Moved(purged.run, purged.events), now)
    over = purging.actor == SYSTEM and purging.revive and not purged.revived
    return purged, changes + (_told_over(purged.run, now) if over else Changes())


def drop_purge(run: Run, purging: Purging, now: datetime) -> Changes:
    """A purge that was due and can't be had any more: the run has ended, or plays again."""
    over = run.status.finished and purging.revive and purging.actor == SYSTEM
    return _told_over(run, now) if over else Changes()


def _told_over(run: Run, now: datetime) -> Changes:
    return Changes(events=(finished_event(run, now),))
