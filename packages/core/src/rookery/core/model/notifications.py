"""Notifications to people, as they wait to be sent."""

import enum
from datetime import datetime

from msgspec import Struct


class NotificationKind(enum.StrEnum):
    """The kinds of notifications."""

    FINISHED = "run_finished"
    FAILED = "run_failed"
    APPROVAL = "approval_needed"
    ACCOUNT = "account_waiting"


FOR_APPROVERS = frozenset({NotificationKind.APPROVAL, NotificationKind.ACCOUNT})
"""Notifications for approvers; all others are for followers of the run."""


class Notification(Struct, frozen=True, kw_only=True):
    """A notification as stored in the outbox. `actor` is the person who caused it and need not be
    notified; empty if nobody did. `subject` is the account that it is about."""

    at: datetime
    kind: NotificationKind
    actor: str = ""
    run: str = ""
    title: str = ""
    message: str = ""
    subject: str = ""


def account_waits(name: str, at: datetime) -> Notification:
    """Return the notification that somebody has asked for an account."""
    return Notification(at=at, kind=NotificationKind.ACCOUNT, subject=name, title=name)
