"""Charts and the small drawings of a table."""

from dataclasses import replace

from rookery.model.kinds import SprtTest
from rookery.pages.charts import HIGH, MOST_POINTS, draw_charts, draw_llr_bar, draw_pentanomial
from rookery.rules.answers import ChartPoint
from tests.makers import later, make_run, sprt, spsa


def points(number: int) -> list[ChartPoint]:
    return [
        ChartPoint(
            "", later(each), 20 * each, (each, 2 * each, 4 * each, 2 * each, each), each / 10, 4
        )
        for each in range(1, number + 1)
    ]


def test_one_point_makes_no_line_and_a_tune_no_chart() -> None:
    assert draw_charts(make_run(kind=sprt()), points(1)) == ()
    assert draw_charts(make_run(kind=spsa()), points(9)) == ()


def test_a_sequential_test_shows_its_ratio_between_its_bounds_and_its_elo() -> None:
    run = make_run(kind=sprt())
    assert isinstance(run.kind, SprtTest)
    llr, elo = draw_charts(run, points(5))
    assert (llr.name, elo.name) == ("llr", "elo")
    assert [rule.text for rule in llr.rules] == ["pass 2.94", "fail -2.94"]
    assert llr.last == "0.50"
    assert llr.line.startswith("M44.0 ")
    assert elo.band.endswith("Z")


def test_a_ratio_far_beyond_its_bounds_leaves_them_apart() -> None:
    run = make_run(kind=sprt())
    far = replace(points(1)[0], games=400, llr=25.66)
    chart = draw_charts(run, [*points(5), far])[0]
    top, bottom = (float(rule.y) for rule in chart.rules)
    assert bottom - top > HIGH / 2
    assert chart.last == "25.66"


def test_other_runs_show_their_elo_alone() -> None:
    assert [chart.name for chart in draw_charts(make_run(), points(5))] == ["elo"]


def test_a_long_run_is_drawn_with_as_many_points_as_an_eye_tells_apart() -> None:
    (chart,) = draw_charts(make_run(), points(1000))
    assert chart.line.count("L") <= MOST_POINTS
    assert chart.along[-1].text == "20,000"


def test_points_without_a_pair_are_passed_over() -> None:
    nothing = ChartPoint("", later(0), 0, (0, 0, 0, 0, 0), 0.0, 4)
    for chart in draw_charts(make_run(kind=sprt()), [nothing, *points(3)]):
        assert "nan" not in chart.line + chart.band


def test_the_bar_grows_from_zero_towards_the_bound_it_nears() -> None:
    up, down = draw_llr_bar(1.5, -3.0, 3.0, 0.0), draw_llr_bar(-3.0, -3.0, 3.0, 0.0)
    assert (up.start, up.length, up.side) == ("50", "25", "up")
    assert (down.start, down.length, down.side) == ("0", "50", "down")


def test_the_bar_ends_at_its_bounds() -> None:
    assert draw_llr_bar(12.0, -3.0, 3.0).length == "50"
    assert draw_llr_bar(float("nan"), -3.0, 3.0).value == "–"


def test_the_sign_is_that_of_the_last_hours_movement() -> None:
    assert draw_llr_bar(1.0, -3.0, 3.0, 0.5).movement == "▲"
    assert draw_llr_bar(1.0, -3.0, 3.0, 1.5).movement == "▼"
    assert draw_llr_bar(1.0, -3.0, 3.0, 1.0).movement == "="
    assert draw_llr_bar(1.0, -3.0, 3.0, None).movement == ""
    assert draw_llr_bar(1.0, -3.0, 3.0, 0.5).moved == "+0.50 in the last hour"


def test_the_tallest_bin_fills_its_height_and_few_pairs_are_still_seen() -> None:
    found = draw_pentanomial((1, 0, 10_000, 20, 5000))
    assert [one.height for one in found.bins] == ["1", "0", "20", "1", "10"]
    assert found.text == "0: 1, ½: 0, 1: 10,000, 1½: 20, 2: 5,000"


def test_no_pairs_make_no_bins() -> None:
    assert {one.height for one in draw_pentanomial((0, 0, 0, 0, 0)).bins} == {"0"}
