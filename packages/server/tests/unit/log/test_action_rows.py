"""Lines of the log say in words what was done, to whom, and nothing twice."""

from datetime import UTC, datetime

import pytest

from rookery.core.model.events import LINK_MADE, Action, Event
from rookery.server.log.action_rows import ActionRow, make_action_rows

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def row_of(action: Action, message: str, actor: str = "olga", subject: str = "") -> ActionRow:
    event = Event(at=NOW, action=action, actor=actor, message=message, subject=subject)
    return next(iter(make_action_rows([event], [], NOW)))


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
    row = row_of(action, message)
    assert (row.what, row.message) == (words, "")


def test_a_message_that_says_more_stays() -> None:
    row = row_of(Action.STOP_RUN, "a bug in the patch")
    assert (row.what, row.message) == ("stopped a test", "a bug in the patch")


def test_what_somebody_did_to_themselves_names_them_once() -> None:
    assert row_of(Action.CHANGE_PASSWORD, "", "olga", "olga").subject == ""
    assert row_of(Action.BLOCK_USER, "blocked", "olga", "sven").subject == "sven"
