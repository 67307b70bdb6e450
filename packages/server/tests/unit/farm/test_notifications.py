"""Which events people are told of, and in which words."""

from dataclasses import replace

import pytest

from rookery.core.model.events import NOT_AUTHORIZED, Action, Event, about_run, about_task
from rookery.core.model.notifications import NotificationKind
from rookery.core.model.run import Run
from rookery.server.farm.rules.notifications import find_notification
from tests.makers import NOW, make_run
from tests.storage.farm.stores import finished, make_task

RUN = make_run("a")
OVER = finished("a")
PENDING = replace(RUN, status=replace(RUN.status, approver=""))


def by_worker(message: str) -> Event:
    return about_task(Action.STOP_RUN, OVER, make_task(OVER), NOW, message)


def modified(message: str) -> Event:
    return about_run(Action.MODIFY_RUN, PENDING, "olga", NOW, message)


@pytest.mark.parametrize(
    ("event", "run", "kind"),
    [
        (about_run(Action.FINISHED_RUN, OVER, "olga", NOW), OVER, NotificationKind.FINISHED),
        (about_run(Action.STOP_RUN, OVER, "boris", NOW), OVER, NotificationKind.FINISHED),
        (by_worker("it crashes"), OVER, NotificationKind.FAILED),
        (by_worker(f"it crashes {NOT_AUTHORIZED}"), RUN, None),
        (about_run(Action.NEW_RUN, PENDING, "olga", NOW), PENDING, NotificationKind.APPROVAL),
        (modified("priority changed from 0 to -1; info changed"), PENDING, None),
        (modified("approval withdrawn"), PENDING, NotificationKind.APPROVAL),
        (modified("games changed from 2 to 4; open again"), PENDING, NotificationKind.APPROVAL),
        (about_run(Action.NEW_RUN, OVER, "olga", NOW), OVER, None),
        (about_run(Action.PURGE_RUN, OVER, "olga", NOW), OVER, None),
        (about_run(Action.FINISHED_RUN, OVER, "olga", NOW), None, None),
    ],
)
def test_ends_and_what_waits_are_told(
    event: Event, run: Run | None, kind: NotificationKind | None
) -> None:
    found = find_notification(event, run)
    assert (found and found.kind) == kind


def test_who_stopped_a_run_is_named_and_a_run_that_ends_by_itself_has_no_actor() -> None:
    stopped = find_notification(about_run(Action.STOP_RUN, OVER, "boris", NOW, "why"), OVER)
    ended = find_notification(about_run(Action.FINISHED_RUN, OVER, "olga", NOW), OVER)
    assert stopped is not None
    assert ended is not None
    assert (stopped.actor, stopped.message) == ("boris", "stopped by boris: why")
    assert ended.actor == ""
    assert "games" in ended.message
