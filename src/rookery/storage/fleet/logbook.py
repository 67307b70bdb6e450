"""The log of actions as scripts read it: which fields an event fills."""

from msgspec import UNSET

from rookery.core.events import Action, Event
from rookery.protocol.user.actions import ActionDocument
from rookery.storage.fleet.codecs import Row
from rookery.storage.fleet.json import clean

WORDLESS = frozenset({Action.DEAD_TASK, Action.DELETE_RUN})
"""Actions that say all by their name; every other one has a message, be it empty."""

OPTIONAL = {
    "worker": "worker",
    "run_id": "run_id",
    "run": "run",
    "task_id": "task_id",
    "message": "message",
    "nn": "nn",
    "user": "subject",
    "engine": "engine",
    "team": "team",
}
"""Fields that not every line has, and their columns."""


def message_of(event: Event) -> str | None:
    return None if event.action in WORDLESS and not event.message else event.message


def documented(number: int, event: Event) -> ActionDocument:
    """An event as a line of the log."""
    message = message_of(event)
    return ActionDocument(
        id=str(number),
        time=event.at.timestamp(),
        action=event.action.value,
        username=event.actor,
        worker=event.worker or UNSET,
        run_id=event.run or UNSET,
        run=event.run_name or UNSET,
        task_id=UNSET if event.task is None else event.task,
        message=UNSET if message is None else message,
        nn=event.nn or UNSET,
        user=event.subject or UNSET,
        engine=event.engine or UNSET,
        team=event.team or UNSET,
    )


def action_columns(event: Event) -> tuple[object, ...]:
    """An event as a row; what it does not have is null."""
    message = message_of(event)
    return (
        event.at,
        event.action.value,
        clean(event.actor),
        clean(event.worker) or None,
        event.run or None,
        clean(event.run_name) or None,
        event.task,
        None if message is None else clean(message),
    )


def event_of(row: Row) -> Event:
    return Event(
        Action(row["action"]),
        row["at"],
        row["username"],
        row["run_id"] or "",
        row["run"] or "",
        row["message"] or "",
        row["task_id"],
        row["worker"] or "",
        row["subject"] or "",
        row["nn"] or "",
        row["engine"] or "",
        row["team"] or "",
    )


def document_of(row: Row) -> ActionDocument:
    """A row as scripts read it; nulls are left out."""
    return ActionDocument(
        id=str(row["id"]),
        time=row["at"].timestamp(),
        action=row["action"],
        username=row["username"],
        **{name: row[column] for name, column in OPTIONAL.items() if row[column] is not None},
    )
