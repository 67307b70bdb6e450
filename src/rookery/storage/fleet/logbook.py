"""The log of actions as scripts read it: which fields an event fills (contract 13.5)."""

from msgspec import UNSET

from rookery.core.events import Action, Event
from rookery.protocol.user.actions import ActionDocument

WORDLESS = frozenset({Action.DEAD_TASK, Action.DELETE_RUN})
"""Actions that say all by their name; every other one has a message, be it empty."""


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
    )
