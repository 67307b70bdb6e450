"""Notifications in words, the same for every channel."""

from collections.abc import Mapping, Sequence

from rookery.core.model.notifications import Notification, NotificationKind
from rookery.server.notify.mail import to_line

KIND_WORDS: Mapping[NotificationKind, str] = {
    NotificationKind.FINISHED: "a test I follow has ended",
    NotificationKind.FAILED: "a test I follow was stopped by an error",
    NotificationKind.APPROVAL: "a test waits for approval",
    NotificationKind.ACCOUNT: "an account waits for approval",
}
LONGEST_TEXT = 400


def describe_notification(told: Notification) -> str:
    """One line of what happened."""
    title, message = to_line(told.title)[:100], to_line(told.message)
    if told.kind is NotificationKind.FINISHED:
        text = f"{title}: {message}"
    elif told.kind is NotificationKind.FAILED:
        text = f"{title}: stopped by an error: {message}"
    elif told.kind is NotificationKind.APPROVAL:
        text = f"{title} by {told.actor} waits for approval" + (f": {message}" if message else "")
    else:
        text = f"The account {told.subject} waits for approval"
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def link_to(told: Notification, server: str) -> str:
    """Return the address of the page with more about it."""
    return f"{server}/runs/{told.run}" if told.run else f"{server}/users?state=pending"


def make_subject(told: Sequence[Notification]) -> str:
    """Return the subject of mail about these notifications."""
    first = describe_notification(told[0])
    return first if len(told) == 1 else f"{len(told)} notifications: {first}"


def make_text(told: Sequence[Notification], server: str, unsubscribe: str) -> str:
    """Return the text of mail about these notifications."""
    parts = [f"{describe_notification(each)}\n{link_to(each, server)}" for each in told]
    foot = (
        "-- \n"
        f"Change your notifications: {server}/profile/notifications\n"
        f"Unsubscribe: {unsubscribe}\n"
    )
    return "\n\n".join([*parts, foot])
