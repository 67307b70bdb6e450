"""Decides which events people are notified of outside of the pages, and in which words."""

from msgspec.structs import replace

from rookery.core.model.events import Action, Event, is_by_worker
from rookery.core.model.notifications import Notification, NotificationKind
from rookery.core.model.run import Run
from rookery.server.farm.rules.lifecycle import APPROVAL_WITHDRAWN, OPEN_AGAIN

_ENDS = frozenset({Action.FINISHED_RUN, Action.STOP_RUN})
_MAY_WAIT = frozenset({Action.NEW_RUN, Action.REOPEN_RUN, Action.APPROVE_RUN})
_LONGEST = 500


def find_notification(event: Event, run: Run | None) -> Notification | None:
    """Return the notification for an event, if there is one; `run` is the run after the event."""
    if run is None:
        return None
    if event.action in _ENDS:
        return _tell_end(event, run)
    waits = not run.status.approved and not run.status.finished
    if waits and (event.action in _MAY_WAIT or _waits_anew(event)):
        return _about(event, run, NotificationKind.APPROVAL, event.actor, run.plan.info)
    return None


def _waits_anew(event: Event) -> bool:
    """Whether a change makes a run wait for approval that did not wait before."""
    parts = (event.message or "").split("; ")
    again = APPROVAL_WITHDRAWN in parts or OPEN_AGAIN in parts
    return event.action == Action.MODIFY_RUN and again


def _tell_end(event: Event, run: Run) -> Notification | None:
    if event.action == Action.FINISHED_RUN:
        return _about(event, run, NotificationKind.FINISHED, "", describe_end(run))
    if is_by_worker(event):
        return None
    if event.worker:
        return _about(event, run, NotificationKind.FAILED, "", event.message or "")
    said = f"stopped by {event.actor}" + (f": {event.message}" if event.message else "")
    return _about(event, run, NotificationKind.FINISHED, event.actor, said)


def _about(
    event: Event, run: Run, kind: NotificationKind, actor: str, message: str
) -> Notification:
    return replace(_describe(run, kind, actor, message), at=event.at)


def _describe(run: Run, kind: NotificationKind, actor: str, message: str) -> Notification:
    new, base = run.plan.sides
    title = f"{new.tag} against {base.tag}" if new.tag != base.tag else new.tag
    return Notification(
        at=run.updated, kind=kind, actor=actor, run=run.id, title=title, message=message[:_LONGEST]
    )


def describe_end(run: Run) -> str:
    """Return the end of a run in one line: passed after 20,000 games: 5,000 won, 4,800 lost, 10,200
    drawn, LLR 2.95."""
    results, kind = run.tally.results, run.kind
    word, ratio = "finished", ""
    if kind.llr is not None:
        outcome = kind.outcome(results)
        word = "passed" if outcome.is_pass else "failed" if outcome else "undecided"
        ratio = f", LLR {kind.llr:.2f}"
    counts = f"{results.wins:,} won, {results.losses:,} lost, {results.draws:,} drawn"
    return f"{word} after {results.games:,} games: {counts}{ratio}"


def tell_state(run: Run) -> Notification | None:
    """Return the state of a run as a notification, if it has ended or waits for approval."""
    if run.status.finished:
        failed = run.status.failed
        kind = NotificationKind.FAILED if failed else NotificationKind.FINISHED
        return _describe(run, kind, "", "its page tells which" if failed else describe_end(run))
    if run.status.approved:
        return None
    return _describe(run, NotificationKind.APPROVAL, run.plan.owner, run.plan.info)
