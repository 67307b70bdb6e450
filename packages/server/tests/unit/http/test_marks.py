"""The small drawings of a table."""

from dataclasses import replace

from msgspec.structs import replace as with_fields

from rookery.server.http.pages.marks import LlrBar, draw_columns
from rookery.server.show.run_row import ListedRun, make_run_row
from tests.makers import NOW, make_run, pairs, sprt
from tests.rendered import render


def test_the_bar_grows_from_zero_towards_the_bound_it_nears() -> None:
    up, down = LlrBar(1.5, -3.0, 3.0, 0.0), LlrBar(-3.0, -3.0, 3.0, 0.0)
    assert (up.start, up.length, up.side) == (50, 25, "up")
    assert (down.start, down.length, down.side) == (0, 50, "down")


def test_the_bar_ends_at_its_bounds() -> None:
    assert LlrBar(12.0, -3.0, 3.0).length == 50


def test_the_sign_is_that_of_the_last_hours_movement() -> None:
    assert LlrBar(1.0, -3.0, 3.0, 0.5).arrow == "▲"
    assert LlrBar(1.0, -3.0, 3.0, 1.5).arrow == "▼"
    assert LlrBar(1.0, -3.0, 3.0, 1.0).arrow == "="
    assert LlrBar(1.0, -3.0, 3.0, None).arrow == ""


def test_the_bar_in_a_list_says_its_numbers() -> None:
    kind = sprt()
    run = make_run(kind=replace(kind, state=with_fields(kind.state, llr=1.0)))
    row = replace(make_run_row(ListedRun(run), NOW), bar=LlrBar(1.0, -3.0, 3.0, 0.5))
    shown = render("tests_live.html", {"waiting": [], "playing": [row]})
    assert 'title="LLR 1.00 [-3.00, 3.00], +0.50 in the last hour"' in shown
    unknown = replace(row, bar=LlrBar(float("nan"), -3.0, 3.0))
    assert "LLR – " in render("tests_live.html", {"waiting": [], "playing": [unknown]})


def test_the_tallest_column_fills_its_height_and_few_pairs_are_still_seen() -> None:
    found = draw_columns((1, 0, 10_000, 20, 5000))
    assert [height for _, _, height in found] == [1, 0, 20, 1, 10]


def test_pairs_are_told_by_their_score() -> None:
    run = make_run(kind=sprt())
    run = replace(run, tally=replace(run.tally, results=pairs(ll=1, even=10_000, wd=20, ww=5000)))
    row = make_run_row(ListedRun(run), NOW)
    shown = render("tests_live.html", {"waiting": [], "playing": [row]})
    assert "<title>0: 1, ½: 0, 1: 10,000, 1½: 20, 2: 5,000</title>" in shown


def test_no_pairs_make_no_columns() -> None:
    assert {height for _, _, height in draw_columns((0, 0, 0, 0, 0))} == {0}
