"""What people copy after a tune."""

from dataclasses import replace

import pytest

from rookery.stats.spsa import (
    LineStyle,
    ParameterSample,
    as_lines,
    as_mapping,
    as_options,
    as_pairs,
    as_setoption,
    late_mean,
    new_tune,
)
from rookery.stats.spsa_parameters import SpsaFault, read_lines

TUNE = new_tune("P,100,0,200,20,0.002\nQ,float,0.5,0,1,0.05,0.002", 60_000)
VALUES = (103.7, 0.1 + 0.2)


def test_whole_numbers_are_rounded_and_floats_are_not() -> None:
    assert as_pairs(TUNE, VALUES) == ("P 104", "Q 0.3")


def test_values_as_commands_for_an_engine() -> None:
    assert as_setoption(TUNE, VALUES)[0] == "setoption name P value 104"


def test_values_as_the_options_of_a_test() -> None:
    assert as_options(TUNE, VALUES) == "P=104 Q=0.3"


def test_a_name_with_a_space_is_kept_by_name_but_cannot_be_an_option_word() -> None:
    tune = new_tune("Skill Level,10,0,20,2,0.002", 1000)
    assert as_mapping(tune, [11]) == {"Skill Level": "11"}
    with pytest.raises(SpsaFault, match="Skill Level"):
        as_options(tune, [11])


def test_values_as_lines_for_the_next_tune() -> None:
    lines = as_lines(TUNE, VALUES)
    assert lines == ("P,int,103.7,0,200,20,0.002", "Q,float,0.3,0,1,0.05,0.002")
    assert read_lines("\n".join(lines))[0].start == 103.7


def test_whole_numbers_alone_are_written_in_six_fields() -> None:
    tune = new_tune("P,100,0,200,20,0.002", 1000)
    assert as_lines(tune, [101]) == ("P,101,0,200,20,0.002",)
    assert as_lines(tune, [101], LineStyle.SEVEN_FIELDS) == ("P,int,101,0,200,20,0.002",)


@pytest.mark.parametrize(("value", "text"), [(1e-7, "0.0000001"), (-0.0, "0"), (1, "1")])
def test_numbers_are_written_without_exponents(value: float, text: str) -> None:
    tune = new_tune("Q,float,0,-1,1,0.05,0.002", 1000)
    assert as_options(tune, [value]) == f"Q={text}"


def test_the_mean_is_taken_over_the_last_fifth() -> None:
    history = tuple(
        (ParameterSample(float(n), 0, 0), ParameterSample(-float(n), 0, 0)) for n in range(1, 11)
    )
    assert late_mean(replace(TUNE, history=history)) == (9.5, -9.5)


def test_without_a_history_the_mean_is_where_the_tune_stands() -> None:
    assert late_mean(TUNE) == TUNE.thetas
