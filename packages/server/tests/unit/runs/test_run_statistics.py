"""Rates, movements and what is still to come."""

from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.kinds import RunForecast
from rookery.core.model.run import Run
from rookery.core.model.task import Results
from rookery.core.stats.sprt import Sprt
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.views import RunSpeed
from rookery.server.runs.compare.page import find_crossing
from rookery.server.show.statistics import (
    add_present,
    estimate_elo_at,
    estimate_run_elo,
    estimate_seconds_left,
    find_earlier_llr,
    forecast_run,
    measure_games_per_minute,
)
from tests.makers import NOW, make_plan, make_run, pairs, sprt, spsa

STILL = RunSpeed()


def playing(games: int, llr: float = 0.0) -> Run:
    kind = sprt(elo1=2.0)
    run = make_run(kind=replace(kind, state=with_fields(kind.state, llr=llr)), cores=4)
    return replace(run, tally=replace(run.tally, results=pairs(even=games // 2)))


def point(minutes: float, games: int, llr: float = 0.0) -> ChartPoint:
    return ChartPoint("", NOW - timedelta(minutes=minutes), games, (0, 0, 0, 0, 0), llr, 4)


def test_games_a_minute_are_counted_since_a_point_of_the_last_hour() -> None:
    assert measure_games_per_minute(playing(1000), point(10, 400), STILL, NOW) == 60


def test_a_pause_before_the_last_hour_does_not_count() -> None:
    assert measure_games_per_minute(playing(1000), point(6000, 400), STILL, NOW) == 10


def test_before_the_first_point_the_machines_speed_stands_in() -> None:
    assert measure_games_per_minute(playing(0), None, RunSpeed(0, 7.0), NOW) == 7.0


def test_a_run_that_nobody_plays_has_no_rate() -> None:
    assert measure_games_per_minute(make_run(), point(10, 0), RunSpeed(0, 7.0), NOW) == 0


def test_the_movement_starts_from_the_ratio_an_hour_ago() -> None:
    assert find_earlier_llr(playing(100), point(61, 50, 1.25), NOW) == 1.25
    assert find_earlier_llr(playing(100), point(5, 50, 1.25), NOW) == 0.0
    assert find_earlier_llr(playing(100), None, NOW) == 0.0
    assert find_earlier_llr(make_run(kind=sprt()), point(61, 50, 1.25), NOW) is None


@pytest.mark.parametrize(("games", "llr"), [(0, 0.0), (20, 0.01), (20_000, 0.5)])
def test_a_young_test_has_a_range_of_games_to_come_and_no_chance(games: int, llr: float) -> None:
    ahead = forecast_run(replace(playing(games, llr), plan=make_plan(games=800_000)))
    assert ahead is not None
    assert ahead.is_rough
    assert ahead.range is not None
    assert 10_000 < ahead.range.early < ahead.games < ahead.range.late < 400_000


def test_the_range_ends_where_the_games_do() -> None:
    ahead = forecast_run(replace(playing(1000, 0.1), plan=make_plan(games=60_000)))
    assert ahead is not None
    assert ahead.range is not None
    assert ahead.range.late <= 60_000


def test_a_test_near_its_bound_will_soon_be_over() -> None:
    near = forecast_run(replace(playing(30_000, 2.8), plan=make_plan(games=400_000)))
    assert near is not None
    assert near.chance is not None
    assert near.chance > 0.9
    assert 0 < near.games < 30_000


def test_fixed_games_and_tunes_end_when_they_are_played() -> None:
    run = make_run(plan=make_plan(games=1000), kind=spsa(), cores=4)
    played = replace(run, tally=replace(run.tally, results=pairs(even=200)))
    assert forecast_run(played) == RunForecast(600)
    assert estimate_seconds_left(RunForecast(600), 60) == 600
    assert estimate_seconds_left(RunForecast(600), 0) is None


def test_no_elo_is_told_before_a_pair_was_played_nor_of_a_tune() -> None:
    assert estimate_run_elo(make_run(kind=sprt())) is None
    assert estimate_run_elo(make_run(kind=spsa())) is None
    found = estimate_run_elo(playing(100))
    assert found is not None
    assert found.middle == pytest.approx(0, abs=1e-6)
    assert found.half_width > 0


@pytest.mark.parametrize("results", [pairs(ll=90, even=600, ww=110), pairs(ll=9, even=9, ww=800)])
def test_the_curve_of_a_sequential_test_ends_at_its_own_elo(results: Results) -> None:
    run = make_run(kind=sprt(elo1=2.0))
    run = replace(run, tally=replace(run.tally, results=results))
    (here,) = add_present((), run, NOW)
    own = estimate_run_elo(run)
    assert own is not None
    assert estimate_elo_at(run, here).middle == pytest.approx(own.middle, abs=0.01)
    assert estimate_elo_at(run, here).high == pytest.approx(own.high, abs=0.01)


def test_what_would_have_been_counts_results_since_the_last_point() -> None:
    run = make_run(kind=sprt())
    run = replace(run, tally=replace(run.tally, results=pairs(even=20, ww=400)))
    early = replace(point(10, 40), pentanomial=(0, 0, 20, 0, 0))
    spec = Sprt(0.0, 2.0)
    assert find_crossing(spec, (early,)) is None
    assert find_crossing(spec, add_present((early,), run, NOW)) == (True, 840)
