"""The life cycle of a run, as a table of transitions.

Theory of operation ------------------- A run is in one of five stages. The other states that lists
show (active, paused) only depend on whether machines are playing it at the moment.

    pending   --approve-->  approved        nothing is played before
    approved  --withdraw--> pending         running tasks play on, no new ones are given
    either    --stop-->     finished        decided, or by hand; all tasks end
    either    --fail-->     failed          a worker found the run itself to be broken
    any       --delete-->   deleted         stopped if need be, and hidden from lists
    deleted   --restore-->  finished or failed, as it was
    the last three --reopen--> approved or pending, whichever it was when it stopped

`MOVES` lists every legal transition. A transition to the present stage changes nothing, so each may
be repeated; anything that is not in the table is refused. The functions below decide who may ask
for a transition and what else it changes. They return a new run and the events to log; the working
set ends the tasks.
"""

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from msgspec import UNSET
from msgspec.structs import replace as with_fields

from rookery.core.model.actor import Actor
from rookery.core.model.events import Action, Event, about_run
from rookery.core.model.plan import Modification, Plan
from rookery.core.model.run import (
    HAS_FAILED,
    NOT_APPROVER,
    BadGameCount,
    GamesCannotChange,
    NotYours,
    Run,
    RunFault,
    Status,
)
from rookery.core.stats.sprt import Flag

OLDEST = timedelta(days=30)


class Stage(enum.StrEnum):
    """The stages of a run."""

    PENDING = "pending"
    APPROVED = "approved"
    FINISHED = "finished"
    FAILED = "failed"
    DELETED = "deleted"


class Transition(enum.StrEnum):
    """The transitions between stages."""

    APPROVE = "approve"
    WITHDRAW = "withdraw"
    STOP = "stop"
    FAIL = "fail"
    DELETE = "delete"
    RESTORE = "restore"
    REOPEN = "reopen"


_OPEN = (Stage.PENDING, Stage.APPROVED)
_OVER = (Stage.FINISHED, Stage.FAILED)

MOVES: dict[Transition, dict[Stage, tuple[Stage, ...]]] = {
    Transition.APPROVE: {
        Stage.PENDING: (Stage.APPROVED,),
        Stage.APPROVED: (Stage.APPROVED,),
    },
    Transition.WITHDRAW: {
        Stage.PENDING: (Stage.PENDING,),
        Stage.APPROVED: (Stage.PENDING,),
    },
    Transition.STOP: {
        Stage.PENDING: (Stage.FINISHED,),
        Stage.APPROVED: (Stage.FINISHED,),
        Stage.FINISHED: (Stage.FINISHED,),
        Stage.FAILED: (Stage.FAILED,),
        Stage.DELETED: (Stage.DELETED,),
    },
    Transition.FAIL: {
        Stage.PENDING: (Stage.FAILED,),
        Stage.APPROVED: (Stage.FAILED,),
        Stage.FAILED: (Stage.FAILED,),
    },
    Transition.DELETE: dict.fromkeys(Stage, (Stage.DELETED,)),
    Transition.RESTORE: {
        Stage.DELETED: _OVER,
        Stage.FINISHED: (Stage.FINISHED,),
        Stage.FAILED: (Stage.FAILED,),
    },
    Transition.REOPEN: {
        Stage.PENDING: (Stage.PENDING,),
        Stage.APPROVED: (Stage.APPROVED,),
        Stage.FINISHED: _OPEN,
        Stage.FAILED: _OPEN,
        Stage.DELETED: _OPEN,
    },
}


@dataclass(frozen=True, slots=True)
class TransitionResult:
    """A run after a transition, and the events to log; not `changed` if it was in that stage
    already."""

    run: Run
    events: tuple[Event, ...] = ()
    changed: bool = True


def unmoved(run: Run) -> TransitionResult:
    return TransitionResult(run, changed=False)


def stage(status: Status) -> Stage:
    if status.deleted:
        return Stage.DELETED
    if status.finished:
        return Stage.FAILED if status.failed else Stage.FINISHED
    return Stage.APPROVED if status.approved else Stage.PENDING


def move(run: Run, which: Transition, change: Callable[[Status], Status]) -> Run:
    """Apply a transition by the table: return the same run if it is in that stage already, else the
    changed one."""
    here = stage(run.status)
    there = MOVES[which].get(here)
    if there is None:
        raise RunFault("you can't {move} a run that is {stage}", stage=here, move=which)
    if here in there:
        return run
    moved = replace(run, status=change(run.status))
    assert stage(moved.status) in there, (which, here, moved.status)
    return moved


def approve(run: Run, actor: Actor, now: datetime) -> TransitionResult:
    """Approve a run; only approvers may, and never their own run."""
    _require(actor.approver, NotYours(NOT_APPROVER))
    _require(actor.name != run.plan.owner, NotYours("you can't approve your own run"))
    moved = move(run, Transition.APPROVE, lambda status: replace(status, approver=actor.name))
    return _move_and_log(run, moved, Action.APPROVE_RUN, actor, now, "approved")


def withdraw(run: Run, actor: Actor, now: datetime) -> TransitionResult:
    """Withdraw the approval of a run; any approver may."""
    _require(actor.approver, NotYours(NOT_APPROVER))
    return _move_and_log(run, _withdrawn(run), Action.APPROVE_RUN, actor, now, "unapproved")


def stop(run: Run, actor: Actor, now: datetime, message: str = "") -> TransitionResult:
    require_owner(run, actor)
    return _move_and_log(run, stopped(run), Action.STOP_RUN, actor, now, message)


def _flag(run: Run) -> Flag:
    return run.kind.outcome(run.tally.results).flag


def fail(run: Run, event: Event) -> TransitionResult:
    """Stop a run that a worker found to be broken; `event` is the log entry."""
    moved = move(
        run,
        Transition.FAIL,
        lambda status: replace(
            status,
            finished=True,
            failed=True,
            failures=status.failures + 1,
            flag=_flag(run),
        ),
    )
    return unmoved(run) if moved is run else TransitionResult(_at_rest(moved), (event,))


def delete(run: Run, actor: Actor, now: datetime) -> TransitionResult:
    require_owner(run, actor)
    moved = move(
        stopped(run), Transition.DELETE, lambda status: replace(status, finished=True, deleted=True)
    )
    return _move_and_log(run, moved, Action.DELETE_RUN, actor, now, "")


def restore(run: Run, actor: Actor, now: datetime) -> TransitionResult:
    """Make a deleted run visible again; it stays stopped."""
    require_owner(run, actor)
    moved = move(run, Transition.RESTORE, lambda status: replace(status, deleted=False))
    return _move_and_log(run, moved, Action.RESTORE_RUN, actor, now, "")


def reopen(run: Run, actor: Actor, now: datetime) -> TransitionResult:
    """Let a run that was stopped by hand continue."""
    require_owner(run, actor)
    require_young(run, now)
    _require(not run.status.failed, RunFault(HAS_FAILED))
    _require_undecided(run)
    return _move_and_log(run, reopened(run), Action.REOPEN_RUN, actor, now, "reopened")


def restart(run: Run, actor: Actor, now: datetime) -> TransitionResult:
    """Let a run that was stopped by an error continue; unless an approver asks, it needs a new
    approval."""
    require_owner(run, actor)
    require_young(run, now)
    if stage(run.status) in _OPEN:
        return unmoved(run)
    _require(run.status.failed, RunFault("the run was not stopped by an error"))
    _require_undecided(run)
    again = reopened(run) if actor.approver else _withdrawn(reopened(run))
    return _move_and_log(run, again, Action.REOPEN_RUN, actor, now, "restarted")


def stopped(run: Run) -> Run:
    """Return the run, stopped and with all its tasks ended; permissions are not checked."""
    moved = move(
        run,
        Transition.STOP,
        lambda status: replace(status, finished=True, flag=_flag(run)),
    )
    return _at_rest(moved)


def reopened(run: Run) -> Run:
    """Return the run without any marks of its end."""
    return move(
        run,
        Transition.REOPEN,
        lambda status: Status(approver=status.approver, failures=status.failures),
    )


def require_owner(run: Run, actor: Actor) -> None:
    _require(actor.approver or actor.name == run.plan.owner, NotYours())


def require_young(run: Run, now: datetime) -> None:
    if not is_young(run, now):
        raise RunFault("the run is older than {days} days", days=OLDEST.days)


def is_young(run: Run, now: datetime) -> bool:
    return now - run.created <= OLDEST


def _withdrawn(run: Run) -> Run:
    return move(run, Transition.WITHDRAW, lambda status: replace(status, approver=""))


def _at_rest(run: Run) -> Run:
    if not run.tally.workers and run.tally.committed == run.tally.results.games:
        return run
    return replace(run, tally=run.tally.all_closed())


def _move_and_log(
    before: Run, after: Run, action: Action, actor: Actor, now: datetime, message: str
) -> TransitionResult:
    if after is before:
        return unmoved(before)
    return TransitionResult(after, (about_run(action, after, actor.name, now, message),))


def _require_undecided(run: Run) -> None:
    _require(not run.decided, RunFault("the run is decided: there is nothing left to play"))


def _require(granted: bool, fault: RunFault) -> None:
    if not granted:
        raise fault


# Changing a run that exists: its length, its weight, its text.

GAMES_STEP = 1000
MOST_GAMES = 3_200_000
FREE_THROUGHPUT = 100
FREE_PRIORITY = 0
"""Up to these values an owner may raise a run's throughput and priority without a new approval."""
APPROVAL_WITHDRAWN, OPEN_AGAIN = "approval withdrawn", "open again"
"""Log messages for changes after which a run needs approval again, or is open again."""


def modify(run: Run, wanted: Modification, actor: Actor, now: datetime) -> TransitionResult:
    """Change a run; afterwards it is open if something is left to play, and stopped otherwise."""
    require_owner(run, actor)
    require_young(run, now)
    _check_games(run, wanted)
    plan = _changed(run.plan, wanted, own=actor.name == run.plan.owner)
    after = run if plan == run.plan else replace(run, plan=plan)
    if not actor.approver and _needs_new_approval(run, plan):
        after = replace(after, status=replace(after.status, approver=""))
    after = stopped(after) if after.decided else reopened(after)
    if after == run:
        return unmoved(run)
    message = "; ".join(_differences(run, after)) or "nothing but the wish to go on"
    return TransitionResult(after, (about_run(Action.MODIFY_RUN, after, actor.name, now, message),))


def may_go_on(run: Run, now: datetime) -> bool:
    """Whether a change could reopen a finished run: because something is left to play, or would be
    with more games."""
    if not is_young(run, now):
        return False
    games = run.plan.games + GAMES_STEP
    if run.kind.resize_objection(run.plan.games, games) is None:
        run = replace(run, plan=with_fields(run.plan, games=games))
    return not run.decided


def _check_games(run: Run, wanted: Modification) -> None:
    games = wanted.games
    if games is UNSET or games == run.plan.games:
        return
    if not 0 <= games <= MOST_GAMES or games % GAMES_STEP:
        raise BadGameCount(step=GAMES_STEP, most=MOST_GAMES)
    if why := run.kind.resize_objection(run.plan.games, games):
        raise GamesCannotChange(why=why)


def _changed(plan: Plan, wanted: Modification, *, own: bool) -> Plan:
    """Return the changed plan; an approver can't change the info text of somebody else's run."""
    changed = wanted.applied_to(plan)
    return changed if own else with_fields(changed, info=plan.info)


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
        yield APPROVAL_WITHDRAWN
    if before.status.finished and not after.status.finished:
        yield OPEN_AGAIN
