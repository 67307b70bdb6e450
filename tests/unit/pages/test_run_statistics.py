"""Rates, movements and what is still to come."""

from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec.structs import replace as with_fields

from rookery.farm.views import RunSpeed
from rookery.model.run import Run
from rookery.pages.run_statistics import (
    RunForecast,
    estimate_run_elo,
    estimate_seconds_left,
    find_earlier_llr,
    forecast_run,
    measure_games_per_minute,
)
from rookery.rules.answers import ChartPoint
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


def test_a_young_test_is_too_young_for_a_forecast() -> None:
    assert forecast_run(playing(0)) is None
    assert forecast_run(playing(20, 0.01)) is None


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
