"""Reading parameter lines."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.stats.spsa_parameters import ParameterKind, ParameterLine, SpsaFault, read_lines


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
        (",1,0,2,1,0.002", "'' is no option name"),
        ("A=B,1,0,2,1,0.002", "'A=B' is no option name"),
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
