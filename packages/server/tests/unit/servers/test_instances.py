"""What people are told who ask a primary to step down."""

from datetime import timedelta

import pytest

from rookery.server.servers.instances import (
    InstanceFigures,
    NoStepDown,
    check_taken_over,
    find_offset,
)
from tests.makers import NOW, later


@pytest.mark.parametrize("to", ["", "b"])
def test_a_step_down_has_worked_when_another_server_is_primary(to: str) -> None:
    check_taken_over("a", "b", to)


def test_one_that_became_primary_again_has_not_stepped_down() -> None:
    with pytest.raises(NoStepDown, match="No other server took over, so a is primary again"):
        check_taken_over("a", "a", "b")


def test_another_server_than_the_wanted_one_is_told() -> None:
    with pytest.raises(NoStepDown, match="c is primary now: b did not take over in time"):
        check_taken_over("a", "c", "b")


@pytest.mark.parametrize(
    ("there", "ahead", "words"),
    [(0.5, 0.0, "agrees"), (-600, 600.0, "600 s ahead"), (601, -600.0, "600 s behind")],
)
def test_how_far_a_clock_is_off_is_told_in_words(there: float, ahead: float, words: str) -> None:
    off = find_offset(NOW + timedelta(seconds=there), NOW, later(1))
    assert off == ahead
    assert InstanceFigures(clock_off_seconds=off).clock == words
