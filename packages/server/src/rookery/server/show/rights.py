"""What a person may do to a run, so that a page offers only that. The rules decide again when a
button is pressed; this only avoids refusals."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from rookery.core.model.actor import Actor
from rookery.core.model.run import Run
from rookery.server.farm.rules.lifecycle import is_young, may_go_on


def plays_engine(run: Run, engines: Collection[str]) -> bool:
    return any(side.engine in engines for side in run.plan.sides)


@dataclass(frozen=True, slots=True)
class Rights:
    approve: bool = False
    withdraw: bool = False
    """Whether they may withdraw an approval."""
    stop: bool = False
    modify: bool = False
    extend: bool = False
    """Whether they may let a run that has ended continue, by changing its settings."""
    purge: bool = False
    delete: bool = False
    restore: bool = False

    @property
    def some(self) -> bool:
        changes = self.stop or self.modify or self.extend
        owns = changes or self.purge or self.delete or self.restore
        return self.approve or self.withdraw or owns


def list_rights(viewer: Actor | None, run: Run, now: datetime) -> Rights:
    if viewer is None:
        return Rights()
    status = run.status
    own = viewer.name == run.plan.owner
    mine = own or viewer.approver
    over, there = status.finished, not status.deleted
    return Rights(
        approve=viewer.approver and not own and not over and not status.approved,
        withdraw=viewer.approver and not over and status.approved,
        stop=mine and not over,
        modify=mine and not over and is_young(run, now),
        extend=mine and over and there and may_go_on(run, now),
        purge=mine and over and there and run.kind.may_purge and run.tally.results.games > 0,
        delete=mine and there,
        restore=mine and status.deleted,
    )
