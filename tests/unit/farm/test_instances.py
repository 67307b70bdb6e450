"""What people are told who ask a primary to step down."""

import pytest

from rookery.farm.instances import NoStepDown, check_taken_over


@pytest.mark.parametrize("to", ["", "b"])
def test_a_step_down_has_worked_when_another_server_is_primary(to: str) -> None:
    check_taken_over("a", "b", to)


def test_one_that_became_primary_again_has_not_stepped_down() -> None:
    with pytest.raises(NoStepDown, match="No other server took over, so a is primary again"):
        check_taken_over("a", "a", "b")


def test_another_server_than_the_wanted_one_is_told() -> None:
    with pytest.raises(NoStepDown, match="c is primary now: b did not take over in time"):
        check_taken_over("a", "c", "b")
