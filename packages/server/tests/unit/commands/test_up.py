"""What `rookery up` says."""

from dataclasses import replace

import pytest

from rookery.core.stats.sprt import Flag, Verdict
from rookery.server.commands.up import end_of_demo, reachable
from tests.makers import sprt
from tests.unit.test_watch import decided, played, shown


@pytest.mark.parametrize(
    ("listening", "reached"),
    [
        ("http://0.0.0.0:8000", "http://127.0.0.1:8000"),
        ("http://[::]:8000", "http://[::1]:8000"),
        ("http://192.0.2.1:8000", "http://192.0.2.1:8000"),
    ],
)
def test_an_address_can_be_opened_on_this_machine(listening: str, reached: str) -> None:
    assert reachable(listening) == reached


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        (Flag.GREEN, "The first test has passed, after 1110 games."),
        (Flag.NONE, "The first test has ended without passing, after 1110 games."),
    ],
)
def test_the_end_of_the_first_test_is_told(flag: Flag, said: str) -> None:
    run = decided(Verdict.ACCEPTED)
    run = replace(run, status=replace(run.status, flag=flag))
    assert end_of_demo(shown(run)) == said


def test_a_first_test_that_is_being_played_has_no_end() -> None:
    assert end_of_demo(shown(played(sprt()))) == ""
