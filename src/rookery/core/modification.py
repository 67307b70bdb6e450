"""Changing a run that exists: its length, its weight, its text."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from rookery.core import faults, lifecycle
from rookery.core.events import Action, about_run
from rookery.core.lifecycle import Actor, Moved
from rookery.core.plan import Plan
from rookery.core.run import Run

GAMES_STEP = 1000
MOST_GAMES = 3_200_000
FREE_THROUGHPUT = 100
FREE_PRIORITY = 0
"""Up to here an owner may raise a run's weight without a new approval."""


@dataclass(frozen=True, slots=True)
class Modification:
    """What is to change; None leaves it as it is."""

    games: int | None = None
    priority: int | None = None
    throughput: int | None = None
    auto_purge: bool | None = None
    info: str | None = None


def modify(run: Run, wanted: Modification, actor: Actor, now: datetime) -> Moved:
    """The changed run: open again where something is left to play, stopped where nothing is."""
    lifecycle.require_owner(run, actor)
    lifecycle.require_young(run, now)
    _check_games(run, wanted)
    plan = _changed(run.plan, wanted, own=actor.name == run.plan.owner)
    after = run if plan == run.plan else replace(run, plan=plan)
    if not actor.approver and _needs_new_approval(run, plan):
        after = replace(after, status=replace(after.status, approver=""))
    after = lifecycle.stopped(after) if after.decided else lifecycle.reopened(after)
    if after == run:
        return lifecycle.unmoved(run)
    message = "; ".join(_differences(run, after)) or "nothing but the wish to go on"
    return Moved(after, (about_run(Action.MODIFY_RUN, after, actor.name, now, message),))


def _check_games(run: Run, wanted: Modification) -> None:
    games = wanted.games
    if games is None or games == run.plan.games:
        return
    if not 0 <= games <= MOST_GAMES or games % GAMES_STEP:
        raise faults.BadGames(step=GAMES_STEP, most=MOST_GAMES)
    if why := run.kind.resize_objection(run.plan.games, games):
        raise faults.FixedGames(why=why)


def _changed(plan: Plan, wanted: Modification, *, own: bool) -> Plan:
    """An approver may change everything but the words of another."""
    return replace(
        plan,
        games=plan.games if wanted.games is None else wanted.games,
        priority=plan.priority if wanted.priority is None else wanted.priority,
        throughput=plan.throughput if wanted.throughput is None else wanted.throughput,
        auto_purge=plan.auto_purge if wanted.auto_purge is None else wanted.auto_purge,
        info=wanted.info if own and wanted.info is not None else plan.info,
    )


def _needs_new_approval(run: Run, plan: Plan) -> bool:
    if not run.status.approved:
        return False
    return (
        run.status.failed
        or plan.throughput > max(run.plan.throughput, FREE_THROUGHPUT)
        or plan.priority > max(run.plan.priority, FREE_PRIORITY)
    )


def _differences(before: Run, after: Run) -> Iterator[str]:
    for name in ("games", "priority", "throughput", "auto_purge"):
        old, new = getattr(before.plan, name), getattr(after.plan, name)
        if old != new:
            yield f"{name} changed from {old} to {new}"
    if before.plan.info != after.plan.info:
        yield "info changed"
    if before.status.approved and not after.status.approved:
        yield "approval withdrawn"
    if before.status.finished and not after.status.finished:
        yield "open again"
