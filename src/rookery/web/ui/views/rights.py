"""What a person may do to a run, so that a page offers that and nothing else.

The core decides when a button is pressed; this only spares people a refusal.
"""

from dataclasses import dataclass

from rookery.core.lifecycle import Actor
from rookery.core.run import Run


@dataclass(frozen=True, slots=True)
class Rights:
    approve: bool = False
    stop: bool = False
    modify: bool = False
    purge: bool = False
    delete: bool = False
    restore: bool = False

    @property
    def some(self) -> bool:
        owns = self.stop or self.modify or self.purge or self.delete or self.restore
        return self.approve or owns


def rights_of(viewer: Actor | None, run: Run) -> Rights:
    if viewer is None:
        return Rights()
    status = run.status
    own = viewer.name == run.plan.owner
    mine = own or viewer.approver
    over, there = status.finished, not status.deleted
    return Rights(
        approve=viewer.approver and not own and not over and not status.approved,
        stop=mine and not over,
        modify=mine and not over,
        purge=mine and over and there and run.kind.may_purge and run.tally.results.games > 0,
        delete=mine and there,
        restore=mine and status.deleted,
    )
