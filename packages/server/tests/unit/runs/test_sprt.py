"""The calculator for sequential tests."""

import pytest

from rookery.server.runs.calculator.page import USUAL, make_view


def test_a_test_passes_by_its_error_rates_at_its_bounds() -> None:
    rows = [row for row in make_view(USUAL).rows if row.is_bound]
    assert [row.passes for row in rows] == ["5.0 %", "95.0 %"]
    assert [row.nelo for row in rows] == ["0", "2"]


def test_logistic_bounds_take_fewer_games_where_more_is_drawn() -> None:
    def games(draw_ratio: str) -> int:
        view = make_view({**USUAL, "model": "logistic", "draw_ratio": draw_ratio, "rms_bias": "0"})
        return int(view.rows[4].mean.replace(",", ""))

    assert games("0.8") < games("0.4")


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
    assert list(make_view({**USUAL, name: text}).form.errors) == [place]


def test_all_that_makes_no_test_is_told_at_once() -> None:
    wrong = {"elo1": "-5", "alpha": "0.99", "draw_ratio": "1"}
    assert make_view({**USUAL, **wrong}).form.errors.keys() == wrong.keys()
