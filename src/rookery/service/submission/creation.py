"""A new run out of a submission, ready to be handed to the fleet."""

from dataclasses import replace
from datetime import datetime

from msgspec import UNSET

from rookery.core.run import Run, create
from rookery.protocol.submission import SubmittedArgs
from rookery.service.submission.faults import require
from rookery.service.submission.identity import Chance, run_id
from rookery.service.submission.planning import planned
from rookery.service.submission.surroundings import Surroundings

__all__ = ["Surroundings", "created"]


def created(
    args: SubmittedArgs,
    owner: str,
    around: Surroundings,
    *,
    now: datetime,
    chance: Chance,
) -> Run:
    """The run, unapproved and with nothing played; raises WireFault. It asks nobody outside."""
    plan, kind = planned(args, owner, around)
    run = create(
        run_id(now, chance),
        plan,
        kind,
        around.catalogue,
        now,
        median_nps=around.speed_of(plan.engine),
        rescheduled_from="" if args.rescheduled_from is UNSET else args.rescheduled_from,
    )
    return _at_own_speed(run, args, around)


def _at_own_speed(run: Run, args: SubmittedArgs, around: Surroundings) -> Run:
    """The submitter may name the reference speed of an engine that has none."""
    if args.reference_nps is UNSET:
        return run
    known = around.catalogue.record(run.plan.engine).speed.reference
    free = known is None or known == args.reference_nps
    require(free, "reference_nps", f"the engine's reference speed is {known}")
    require(args.reference_nps >= 1, "reference_nps", "expected at least 1 node per second")
    return replace(run, reference_nps=args.reference_nps)
