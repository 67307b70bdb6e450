"""Parameter lines, step sizes over the life of a tune, and warnings before it starts."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.stats.spsa import new_tune
from rookery.core.stats.spsa_parameters import (
    Concern,
    ParameterKind,
    ParameterLine,
    SpsaFault,
    read_lines,
    remarks,
    schedule_for,
)


def test_six_fields_are_a_whole_number() -> None:
    assert read_lines("P, 100, 0, 200, 20, 0.002") == (
        ParameterLine("P", ParameterKind.INT, 100, 0, 200, 20, 0.002),
    )


def test_seven_fields_name_their_type() -> None:
    text = "P, int, 1, 0, 2, 1, 0.002\nQ, float, 0.5, 0, 1, 0.05, 0.002"
    assert [line.kind for line in read_lines(text)] == [ParameterKind.INT, ParameterKind.FLOAT]


def test_both_forms_and_blank_lines_may_be_mixed() -> None:
    lines = read_lines("\nP,1,0,2,1,0.002\r\n\n  \nQ,float,1,0,2,1,0.002\n")
    assert [line.name for line in lines] == ["P", "Q"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no parameter line"),
        ("P,1,0,2,1", "line 1: 5 fields"),
        ("\nP,1,0,2,1,0.002,7,8", "line 2: 8 fields"),
        (",1,0,2,1,0.002", "'' is not an option name"),
        ("A=B,1,0,2,1,0.002", "'A=B' is not an option name"),
        (
            "P,1,0,2,1,0.002\nP,1,0,2,1,0.002",
            "line 2: P is named twice",
        ),
        ("P,bool,1,0,2,1,0.002", "the type of P is 'bool'"),
        ("P,one,0,2,1,0.002", "start of P is 'one'"),
        ("P,1,0,inf,1,0.002", "max of P is 'inf'"),
        ("P,1,0,2,nan,0.002", "c_end of P is 'nan'"),
        ("P,1_0,0,20,1,0.002", "start of P is '1_0'"),
        ("P,1,0,2,1,1e999", "r_end of P is '1e999'"),
        ("P,1,0,2,0,0.002", "c_end of P is 0"),
        ("P,1,0,2,1,-1", "r_end of P is -1"),
        ("P,1,2,0,1,0.002", "no value of P lies within 2 and 0"),
        ("P,1,0.2,0.8,1,0.002", "no value of P"),
    ],
)
def test_a_faulty_line_is_named(text: str, message: str) -> None:
    with pytest.raises(SpsaFault, match=message):
        read_lines(text)


def test_there_is_a_most_number_of_parameters() -> None:
    with pytest.raises(SpsaFault, match="10001"):
        read_lines("\n".join(f"P{number},1,0,2,1,0.002" for number in range(10_001)))


@given(st.text(alphabet="Pint,float0123456789.-e\n =\x00٣", max_size=60))
def test_any_text_gives_lines_or_a_named_fault(text: str) -> None:
    with suppress(SpsaFault):
        assert read_lines(text)


TUNE = new_tune("P,100,0,200,20,0.002", 60_000)


def test_the_first_steps_follow_from_the_last() -> None:
    parameter = TUNE.parameters[0]
    assert TUNE.schedule.stability == 3000
    assert parameter.c == pytest.approx(56.65252125, abs=1e-8)
    assert parameter.a_end == pytest.approx(0.8)
    assert parameter.a == pytest.approx(419.98654651, abs=1e-8)


@pytest.mark.parametrize(
    ("iteration", "c", "r", "move"),
    [
        (0, 56.65252125, 0.00105555961, 0.23920045),
        (1000, 28.19521435, 0.00358409168, 0.40421693),
        (29_999, 20, 0.002, 0.16),
    ],
)
def test_steps_at_an_iteration(iteration: int, c: float, r: float, move: float) -> None:
    steps = TUNE.steps(iteration)[0]
    assert steps.c == pytest.approx(c, abs=1e-8)
    assert steps.r == pytest.approx(r, abs=1e-11)
    assert steps.r * steps.c * 4 == pytest.approx(move, abs=1e-8)


def test_the_last_iteration_has_the_steps_the_author_asked_for() -> None:
    steps = TUNE.steps(TUNE.schedule.last)[0]
    assert (steps.c, steps.r) == pytest.approx((20, 0.002))


def test_final_steps_keep_whole_numbers_half_apart() -> None:
    tune = new_tune("I,int,5,0,9,0.1,0.002\nF,float,5,0,9,0.1,0.002", 1000)
    whole, broken = tune.steps(tune.schedule.last, final=True)
    assert (whole.c, broken.c) == pytest.approx((0.5, 0.1))


@pytest.mark.parametrize(
    ("games", "a_ratio", "alpha", "gamma"),
    [(0, 0.1, 0.6, 0.1), (100, -1, 0.6, 0.1), (100, 0.1, 99, 0.1), (100, 0.1, 0.6, float("nan"))],
)
def test_impossible_settings_are_refused(
    games: int, a_ratio: float, alpha: float, gamma: float
) -> None:
    with pytest.raises(SpsaFault, match="must lie within"):
        schedule_for(games, a_ratio=a_ratio, alpha=alpha, gamma=gamma)


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
