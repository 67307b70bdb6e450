"""Lines of the log say in words what was done, to whom, and nothing twice."""

from datetime import UTC, datetime

import pytest

from rookery.core.model.events import LINK_MADE, Action, Event
from rookery.server.log.action_rows import describe_action, tell_message

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def event_of(action: Action, message: str) -> Event:
    return Event(at=NOW, action=action, actor="olga", message=message)


@pytest.mark.parametrize(
    ("action", "message", "words"),
    [
        (Action.BLOCK_WORKER, "blocked", "blocked a machine"),
        (Action.APPROVE_RUN, "unapproved", "withdrew a test's approval"),
        (Action.CHANGE_PASSWORD, LINK_MADE, "created a password reset link"),
        (Action.BLOCK_WORKER, "unblocked", "unblocked a machine"),
        (Action.BLOCK_USER, "unblocked", "unblocked a user"),
        (Action.LEAVE_TEAM, "sent away", "removed a member from a team"),
    ],
)
def test_an_action_that_may_be_two_things_says_which(
    action: Action, message: str, words: str
) -> None:
    event = event_of(action, message)
    assert (describe_action(event), tell_message(event)) == (words, "")


def test_a_message_that_says_more_stays() -> None:
    event = event_of(Action.STOP_RUN, "a bug in the patch")
    assert describe_action(event) == "stopped a test"
    assert tell_message(event) == "a bug in the patch"
