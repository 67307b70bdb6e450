"""Purges in one go, as small tests want them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rookery.core.model.actor import Actor
from rookery.core.model.events import SYSTEM, Event
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.core.stats.residuals import MANUAL, PurgeRule
from rookery.server.farm.rules import purge as rules
from rookery.server.farm.rules.answers import Changes
from rookery.server.farm.rules.purge import BadTask, PurgedPortion, PurgeSearch, Purging
from rookery.server.farm.rules.working_set import WorkingSet, begin_purge, conclude_purge


@dataclass(frozen=True, slots=True)
class Purged:
    """The run after a purge, what was taken out, and what was told."""

    run: Run
    bad: tuple[BadTask, ...]
    events: tuple[Event, ...]

    @property
    def revived(self) -> bool:
        return not self.run.status.finished


def struck(run: Run, purging: Purging, tasks: Sequence[Task]) -> PurgedPortion:
    inquiry = PurgeSearch()
    inquiry.look(tasks)
    culprit = inquiry.verdict(run, purging.rule)
    return rules.strike(run, replace(purging, culprit=culprit), tasks)


def purge(run: Run, tasks: Sequence[Task], rule: PurgeRule, now: datetime) -> Purged:
    rules.check(run, now)
    actor = "boss" if rule is MANUAL else SYSTEM
    done = struck(run, Purging(run.id, actor), tasks)
    purged = rules.conclude(done.run, done.purging, now)
    return Purged(purged.run, done.bad, purged.events)


def carried_out(
    working: WorkingSet, run: Run, purging: Purging, tasks: Sequence[Task], now: datetime
) -> tuple[Purged, Changes]:
    done = struck(run, purging, tasks)
    purged, changes = conclude_purge(working, done.run, done.purging, now)
    changes += Changes(tasks=tuple(each.struck for each in done.bad))
    return Purged(purged.run, done.bad, purged.events), changes


def purge_after_end(
    working: WorkingSet, run: Run, tasks: Sequence[Task], now: datetime
) -> tuple[Purged, Changes]:
    """The purge that a run asked for."""
    rules.check(run, now)
    return carried_out(working, run, Purging(run.id, revive=run.decided), tasks, now)


def purge_by_hand(
    working: WorkingSet, run: Run, tasks: Sequence[Task], actor: Actor, now: datetime
) -> tuple[Purged, Changes]:
    return carried_out(working, run, begin_purge(run, actor, now), tasks, now)
