"""Warnings before a tune starts."""

import pytest

from rookery.stats.spsa import new_tune
from rookery.stats.spsa_parameters import Concern, remarks


def concerns(line: str, options: list[str] | None = None) -> list[Concern]:
    return [remark.concern for remark in remarks(new_tune(line, 1000).parameters, options)]


def test_a_sound_parameter_draws_no_remark() -> None:
    assert concerns("P,100,0,200,10,0.002", ["p"]) == []


@pytest.mark.parametrize(
    ("line", "concern"),
    [
        ("P,100,0,200,0.4,0.002", Concern.SMALL_STEP),
        ("P,300,0,200,10,0.002", Concern.START_OUTSIDE),
        ("P,5,0,200,10,0.002", Concern.STEP_LEAVES_RANGE),
        ("P,5,5,5,10,0.002", Concern.FIXED),
        ("P,100.5,0,200,10,0.002", Concern.FRACTIONS),
        ("P,100,0,200,10,0.2", Concern.UNUSUAL_RATE),
        ("P,100,0,200,10,0", Concern.UNUSUAL_RATE),
    ],
)
def test_what_looks_odd_is_said(line: str, concern: Concern) -> None:
    assert concerns(line) == [concern]


def test_an_option_the_engine_lacks_is_said_only_when_its_options_are_known() -> None:
    assert concerns("P,100,0,200,10,0.002", ["Hash"]) == [Concern.UNKNOWN_OPTION]
    assert concerns("P,100,0,200,10,0.002") == []


def test_small_steps_are_fine_for_floats() -> None:
    assert concerns("P,float,0.5,0,1,0.05,0.002") == []


def test_a_remark_is_a_sentence_about_its_parameter() -> None:
    (remark,) = remarks(new_tune("P,100,0,200,10,0.2", 1000).parameters)
    assert remark.text == "P: r_end 0.2 is far from the usual 0.002"
