"""Charts as drawings."""

from dataclasses import replace

from rookery.model.kinds import SprtTest
from rookery.pages.charts import HIGH, MOST_POINTS, charts_of
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
    assert charts_of(make_run(kind=sprt()), points(1)) == ()
    assert charts_of(make_run(kind=spsa()), points(9)) == ()


def test_a_sequential_test_shows_its_ratio_between_its_bounds_and_its_elo() -> None:
    run = make_run(kind=sprt())
    assert isinstance(run.kind, SprtTest)
    llr, elo = charts_of(run, points(5))
    assert (llr.name, elo.name) == ("llr", "elo")
    assert [rule.text for rule in llr.rules] == ["pass 2.94", "fail -2.94"]
    assert llr.last == "0.50"
    assert llr.line.startswith("M44.0 ")
    assert elo.band.endswith("Z")


def test_a_ratio_far_beyond_its_bounds_leaves_them_apart() -> None:
    run = make_run(kind=sprt())
    far = replace(points(1)[0], games=400, llr=25.66)
    chart = charts_of(run, [*points(5), far])[0]
    top, bottom = (float(rule.y) for rule in chart.rules)
    assert bottom - top > HIGH / 2
    assert chart.last == "25.66"


def test_other_runs_show_their_elo_alone() -> None:
    assert [chart.name for chart in charts_of(make_run(), points(5))] == ["elo"]


def test_a_long_run_is_drawn_with_as_many_points_as_an_eye_tells_apart() -> None:
    (chart,) = charts_of(make_run(), points(1000))
    assert chart.line.count("L") <= MOST_POINTS
    assert chart.along[-1].text == "20,000"


def test_points_without_a_pair_are_passed_over() -> None:
    nothing = ChartPoint("", later(0), 0, (0, 0, 0, 0, 0), 0.0, 4)
    for chart in charts_of(make_run(kind=sprt()), [nothing, *points(3)]):
        assert "nan" not in chart.line + chart.band
