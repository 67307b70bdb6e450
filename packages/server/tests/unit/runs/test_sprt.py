"""The calculator for sequential tests."""

from collections.abc import Mapping

import pytest

from rookery.server.http.form import ShownForm
from rookery.server.runs.calculator.page import USUAL, show_lengths
from tests.rendered import read_words, render


def rows(**texts: str) -> list[list[str]]:
    """The cells of the table."""
    page = render("sprt_part.html", show_lengths({**USUAL, **texts}))
    body = page.partition("<tbody>")[2]
    return [[read_words(cell) for cell in row.split("</td>")] for row in body.split("</tr>")]


def test_a_test_passes_by_its_error_rates_at_its_bounds() -> None:
    bounds = [row for row in rows() if row[0].endswith(" bound")]
    assert [row[0] for row in bounds] == ["0 bound", "2 bound"]
    assert [row[2] for row in bounds] == ["5.0 %", "95.0 %"]


def test_logistic_bounds_take_fewer_games_where_more_is_drawn() -> None:
    def games(draw_ratio: str) -> int:
        row = rows(model="logistic", draw_ratio=draw_ratio, rms_bias="0")[4]
        return int(row[3].replace(",", ""))

    assert games("0.8") < games("0.4")


def find_errors(**texts: str) -> Mapping[str, str]:
    form = show_lengths({**USUAL, **texts})["form"]
    assert isinstance(form, ShownForm)
    return form.errors


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("elo0", "x", "elo0"),
        ("elo0", "nan", "elo0"),
        ("elo1", "-5", "elo1"),
        ("alpha", "0.99", "alpha"),
        ("draw_ratio", "1", "draw_ratio"),
        ("rms_bias", "900", "draw_ratio"),
        ("model", "other", "model"),
    ],
)
def test_what_makes_no_test_is_told_beside_its_field(name: str, text: str, place: str) -> None:
    assert list(find_errors(**{name: text})) == [place]


def test_all_that_makes_no_test_is_told_at_once() -> None:
    wrong = {"elo1": "-5", "alpha": "0.99", "draw_ratio": "1"}
    assert find_errors(**wrong).keys() == wrong.keys()
