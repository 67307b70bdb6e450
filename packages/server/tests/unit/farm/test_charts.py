"""Charts."""

import json
from dataclasses import replace

from msgspec.structs import replace as with_fields

from rookery.core.model.kinds import Kind, SprtTest
from rookery.core.model.run import Run
from rookery.core.stats.spsa import ParameterSample
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.show.charts import MOST_POINTS, SIZE, Chart
from rookery.server.show.run_charts import PresentPace, draw_charts
from rookery.server.show.statistics import ShownElo
from tests.makers import later, make_run, pairs, sprt, spsa


def played_run(kind: Kind | None = None, *, even: int = 100_000) -> Run:
    """With more games than any point below."""
    run = make_run(kind=kind)
    return replace(run, tally=replace(run.tally, results=pairs(even=even)))


def points(number: int) -> list[ChartPoint]:
    return [
        ChartPoint(
            "", later(each), 20 * each, (each, 2 * each, 4 * each, 2 * each, each), each / 10, 4
        )
        for each in range(1, number + 1)
    ]


def test_one_point_makes_no_line() -> None:
    assert draw_charts(played_run(kind=sprt()), points(1)) == ()


def test_a_tune_shows_how_far_its_parameters_have_moved() -> None:
    kind = spsa(1000, "A,100,0,200,10,0.002\nB,30,0,60,3,0.002")
    steps = tuple(ParameterSample(value, 0.0, 0.0) for value in (110.0, 30.0))
    moved = replace(kind.tune, history=(steps,), iteration=100, thetas=(120.0, 30.0))
    paths, _pace = draw_charts(played_run(kind=replace(kind, tune=moved)), points(9))
    assert (paths.name, paths.last) == ("paths", "2 parameters")
    assert [line.count("L") for line in (paths.line, *paths.others)] == [2, 2]


def test_games_a_minute_are_told_over_time() -> None:
    pace = draw_charts(played_run(), points(9))[-1]
    assert (pace.name, pace.last) == ("pace", "1,200 at the end")
    assert [mark.text for mark in pace.along] == []


def test_the_speed_is_told_over_time_from_the_first_point_that_knows_it() -> None:
    known = [replace(one, nps=1e6 * one.games) for one in points(40)[20:]]
    pace, speed = draw_charts(played_run(), [*points(20), *known])[-2:]
    assert (pace.name, speed.name, speed.last) == ("pace", "speed", "800 Mnps at the end")
    assert [mark.text for mark in speed.across] == ["0", "250 M", "500 M", "750 M"]
    assert [mark.text for mark in speed.along] == ["10 s", "20 s", "30 s"]
    assert speed.line.count("L") == len(known) - 1
    assert float(speed.line[1:].split()[0]) > speed.size.left + 100


def points_of(chart: Chart) -> list[list[float]]:
    """What the script draws."""
    return [list(map(float, one)) for one in json.loads(chart.points)]


def test_lines_over_time_end_where_the_run_is_now() -> None:
    known = [replace(one, nps=1e6) for one in points(9)]
    now = PresentPace(later(20), games_per_minute=300.0, nps=2e6, cores=7)
    pace, speed = draw_charts(played_run(), known, present=now)[-2:]
    assert (pace.last, speed.last) == ("300", "2.0 Mnps")
    assert points_of(pace)[-1] == [later(20).timestamp(), 300, 7]
    assert points_of(speed)[-1] == [later(20).timestamp(), 2e6, 7]


def test_lines_over_time_fall_to_nothing_where_nobody_plays() -> None:
    known = [replace(one, nps=1e6) for one in points(9)]
    now = PresentPace(later(20), games_per_minute=0.0, nps=0.0, cores=0)
    pace, speed = draw_charts(played_run(), known, present=now)[-2:]
    assert (pace.last, speed.last) == ("0", "0 nps")
    assert points_of(pace)[-2:] == [[later(9).timestamp(), 1200, 4], [later(9).timestamp(), 0, 0]]
    assert points_of(speed)[-1] == [later(9).timestamp(), 0, 0]


def test_the_last_stretch_of_a_long_run_is_no_shorter_than_the_others() -> None:
    pace = draw_charts(played_run(), points(1000))[-1]
    times = [at for at, *_ in points_of(pace)]
    assert times[-1] == later(1000).timestamp()
    assert times[-1] - times[-2] >= times[1] - times[0]


def test_games_that_all_machines_report_at_once_are_no_pace() -> None:
    known = points(100)
    burst = replace(known[-1], at=later(100.01), games=known[-1].games + 100)
    pace = draw_charts(played_run(), [*known, burst])[-1]
    highest = max(rate for _, rate, _ in points_of(pace))
    assert highest < 4 * 1200


def test_the_line_of_the_elo_ends_at_the_runs_own() -> None:
    own = ShownElo(3.0, 1.0, 6.0, 0.9)
    elo = draw_charts(played_run(), points(9), own)[0]
    assert elo.last == "+3.00 [+1.00, +6.00]"


def test_a_sequential_test_shows_its_ratio_between_its_bounds_and_its_elo() -> None:
    run = played_run(kind=sprt())
    assert isinstance(run.kind, SprtTest)
    elo, llr, _pace = draw_charts(run, points(5))
    assert (llr.name, elo.name) == ("llr", "elo")
    assert [rule.text for rule in llr.rules] == ["pass 2.94", "fail -2.94"]
    assert llr.last == "0.50"
    assert llr.line.startswith("M44.0 ")
    assert elo.band.endswith("Z")


def test_lines_over_games_end_where_a_purge_has_left_their_run() -> None:
    kind = sprt()
    left = played_run(replace(kind, state=with_fields(kind.state, llr=1.25)), even=30)
    elo, llr, pace = draw_charts(left, points(9))
    assert llr.last == "1.25"
    assert [chart.line.count("L") for chart in (elo, llr)] == [2, 3]
    assert pace.line.count("L") == 7


def test_a_ratio_far_beyond_its_bounds_leaves_them_apart() -> None:
    run = played_run(kind=sprt())
    far = replace(points(1)[0], games=400, llr=25.66)
    chart = draw_charts(run, [*points(5), far])[1]
    top, bottom = (float(rule.y) for rule in chart.rules)
    assert bottom - top > SIZE.high / 2
    assert chart.last == "25.66"


def test_other_runs_show_their_elo_alone() -> None:
    assert [chart.name for chart in draw_charts(played_run(), points(5))] == ["elo", "pace"]


def test_a_long_run_is_drawn_with_as_many_points_as_an_eye_tells_apart() -> None:
    chart = draw_charts(played_run(), points(1000))[0]
    assert chart.line.count("L") <= MOST_POINTS
    assert chart.along[-1].text == "20,000"


def test_points_without_a_pair_are_passed_over() -> None:
    nothing = ChartPoint("", later(0), 0, (0, 0, 0, 0, 0), 0.0, 4)
    for chart in draw_charts(played_run(kind=sprt()), [nothing, *points(3)]):
        assert "nan" not in chart.line + chart.band
