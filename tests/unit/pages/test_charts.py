"""Charts."""

from dataclasses import replace

from rookery.model.kinds import SprtTest
from rookery.pages.charts import HIGH, MOST_POINTS, draw_charts
from rookery.pages.run_statistics import ShownElo
from rookery.rules.answers import ChartPoint
from rookery.stats.spsa import ParameterSample
from tests.makers import later, make_run, sprt, spsa


def points(number: int) -> list[ChartPoint]:
    return [
        ChartPoint(
            "", later(each), 20 * each, (each, 2 * each, 4 * each, 2 * each, each), each / 10, 4
        )
        for each in range(1, number + 1)
    ]


def test_one_point_makes_no_line() -> None:
    assert draw_charts(make_run(kind=sprt()), points(1)) == ()


def test_a_tune_shows_how_far_its_parameters_have_moved() -> None:
    kind = spsa(1000, "A,100,0,200,10,0.002\nB,30,0,60,3,0.002")
    steps = tuple(ParameterSample(value, 0.0, 0.0) for value in (110.0, 30.0))
    moved = replace(kind.tune, history=(steps,), iteration=100, thetas=(120.0, 30.0))
    paths, _speed = draw_charts(make_run(kind=replace(kind, tune=moved)), points(9))
    assert (paths.name, paths.last) == ("paths", "2 parameters")
    assert [line.count("L") for line in (paths.line, *paths.others)] == [2, 2]


def test_the_speed_is_told_over_time() -> None:
    speed = draw_charts(make_run(), points(9))[-1]
    assert (speed.name, speed.last) == ("speed", "1,200")
    assert [mark.text for mark in speed.along] == []


def test_the_line_of_the_elo_ends_at_the_runs_own() -> None:
    own = ShownElo(3.0, 1.0, 6.0, 0.9)
    elo = draw_charts(make_run(), points(9), own)[0]
    assert elo.last == "+3.00 [+1.00, +6.00]"


def test_a_sequential_test_shows_its_ratio_between_its_bounds_and_its_elo() -> None:
    run = make_run(kind=sprt())
    assert isinstance(run.kind, SprtTest)
    elo, llr, _speed = draw_charts(run, points(5))
    assert (llr.name, elo.name) == ("llr", "elo")
    assert [rule.text for rule in llr.rules] == ["pass 2.94", "fail -2.94"]
    assert llr.last == "0.50"
    assert llr.line.startswith("M44.0 ")
    assert elo.band.endswith("Z")


def test_a_ratio_far_beyond_its_bounds_leaves_them_apart() -> None:
    run = make_run(kind=sprt())
    far = replace(points(1)[0], games=400, llr=25.66)
    chart = draw_charts(run, [*points(5), far])[1]
    top, bottom = (float(rule.y) for rule in chart.rules)
    assert bottom - top > HIGH / 2
    assert chart.last == "25.66"


def test_other_runs_show_their_elo_alone() -> None:
    assert [chart.name for chart in draw_charts(make_run(), points(5))] == ["elo", "speed"]


def test_a_long_run_is_drawn_with_as_many_points_as_an_eye_tells_apart() -> None:
    chart = draw_charts(make_run(), points(1000))[0]
    assert chart.line.count("L") <= MOST_POINTS
    assert chart.along[-1].text == "20,000"


def test_points_without_a_pair_are_passed_over() -> None:
    nothing = ChartPoint("", later(0), 0, (0, 0, 0, 0, 0), 0.0, 4)
    for chart in draw_charts(make_run(kind=sprt()), [nothing, *points(3)]):
        assert "nan" not in chart.line + chart.band
