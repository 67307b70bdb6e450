"""What the page of a user says about their machines."""

from datetime import timedelta

from rookery.core.model.task import Task
from rookery.server.farm.statistics_rows import Contributor, Period
from rookery.server.people.list.page import find_last
from tests.makers import NOW, make_machine
from tests.people import OLGA

COUNTED = NOW - timedelta(hours=2)


def test_the_last_result_of_somebody_who_plays_is_not_that_of_the_last_finished_run() -> None:
    reported = NOW - timedelta(seconds=20)
    task = Task("run", 0, 0, 100, make_machine(), COUNTED, reported)
    given = {Period.ALL: Contributor(OLGA.name, 200, 1.5, 0, COUNTED)}
    assert find_last(given, [task]) == reported
    assert find_last(given, []) == COUNTED
