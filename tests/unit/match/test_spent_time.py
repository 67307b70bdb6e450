"""Whose time it is when the runner reads an answer late."""

import pytest

from rookery.match.clock import LATE_SLACK_SECONDS, SpentTime, spent_time

ASKED = 100.0


def test_an_answer_read_at_once_is_charged_until_it_was_read() -> None:
    time = spent_time(ASKED, read_at=101.000, written_at=100.999)
    assert time.charged == pytest.approx(1.0)
    assert time.late == 0.0


def test_what_the_answer_lay_in_its_pipe_is_not_charged() -> None:
    time = spent_time(ASKED, read_at=101.250, written_at=101.0)
    assert time.charged == pytest.approx(1.0 + LATE_SLACK_SECONDS)
    assert time.late == pytest.approx(0.25 - LATE_SLACK_SECONDS)


def test_the_flag_has_the_benefit_of_the_doubt() -> None:
    time = spent_time(ASKED, read_at=101.005, written_at=101.0)
    assert time.least == pytest.approx(1.0)
    assert time.charged == pytest.approx(1.005)


@pytest.mark.parametrize("written_at", [None, 0.0, 99.9, 101.001])
def test_a_stamp_that_cannot_be_the_answers_says_nothing(written_at: float | None) -> None:
    assert spent_time(ASKED, 101.0, written_at) == SpentTime(1.0, 1.0, 1.0)


def test_a_stamp_may_be_a_step_early() -> None:
    time = spent_time(ASKED, read_at=100.5, written_at=99.996)
    assert time.least == 0.0
    assert time.charged == pytest.approx(LATE_SLACK_SECONDS - 0.004)


def test_no_move_takes_longer_than_until_it_was_read() -> None:
    for step in range(200):
        time = spent_time(ASKED, 100.1, 100 + step / 1000)
        assert 0.0 <= time.least <= time.charged <= time.read
