"""Changing a run keeps to what its owner and kind may change."""

from dataclasses import replace
from datetime import timedelta

import pytest

from rookery.model import run as faults
from rookery.model.plan import Modification
from rookery.model.run import Run
from rookery.rules import lifecycle as life
from rookery.rules.lifecycle import modify
from tests.makers import (
    BOSS,
    NOW,
    OWNER,
    STRANGER,
    broken,
    make_plan,
    make_run,
    pairs,
    sprt,
    spsa,
)


def played(run: Run, games: int) -> Run:
    results = pairs(even=games // 2)
    return replace(run, tally=replace(run.tally, committed=games, results=results))


def test_the_owner_changes_weight_and_text() -> None:
    moved = modify(make_run(), Modification(priority=-1, throughput=50, info="new"), OWNER, NOW)
    plan = moved.run.plan
    assert (plan.priority, plan.throughput, plan.info) == (-1, 50, "new")
    assert moved.events[0].message == (
        "priority changed from 0 to -1; throughput changed from 100 to 50; info changed"
    )
    assert moved.run.status.approved


def test_the_same_change_twice_changes_nothing() -> None:
    wanted = Modification(priority=-1)
    once = modify(make_run(), wanted, OWNER, NOW).run
    assert modify(once, wanted, OWNER, NOW) == life.unmoved(once)


def test_an_approver_does_not_change_the_words_of_another() -> None:
    assert modify(make_run(), Modification(info="mine"), BOSS, NOW).run.plan.info == ""


@pytest.mark.parametrize("wanted", [Modification(throughput=150), Modification(priority=1)])
def test_raising_a_runs_weight_takes_a_new_approval(wanted: Modification) -> None:
    assert not modify(make_run(), wanted, OWNER, NOW).run.status.approved
    assert modify(make_run(), wanted, BOSS, NOW).run.status.approved


def test_what_was_high_may_stay_high() -> None:
    run = make_run(plan=make_plan(throughput=200, priority=3))
    wanted = Modification(throughput=180, priority=3)
    assert modify(run, wanted, OWNER, NOW).run.status.approved


@pytest.mark.parametrize("games", [-1000, 1500, 3_201_000])
def test_games_come_in_thousands_within_bounds(games: int) -> None:
    with pytest.raises(faults.BadGames):
        modify(make_run(kind=sprt()), Modification(games=games), OWNER, NOW)


def test_a_run_of_fixed_length_may_shrink_and_a_tune_may_not_change() -> None:
    assert modify(make_run(), Modification(games=1000), OWNER, NOW).run.plan.games == 1000
    with pytest.raises(faults.FixedGames, match="may not grow"):
        modify(make_run(), Modification(games=50_000), OWNER, NOW)
    with pytest.raises(faults.FixedGames, match="tune"):
        modify(make_run(kind=spsa()), Modification(games=1000), OWNER, NOW)


def test_a_finished_run_that_needs_more_games_opens_again() -> None:
    done = life.stopped(played(make_run(plan=make_plan(games=1000), kind=sprt()), 1000))
    again = modify(done, Modification(games=2000), OWNER, NOW)
    assert not again.run.status.finished
    assert "open again" in (again.events[0].message or "")


def test_touching_a_failed_run_clears_the_failure_and_takes_a_new_approval() -> None:
    failed = life.fail(make_run(), broken(make_run())).run
    again = modify(failed, Modification(), OWNER, NOW).run
    assert (again.status.finished, again.status.failed, again.status.approved) == (
        False,
        False,
        False,
    )


def test_a_run_that_has_all_its_games_now_stops() -> None:
    run = played(make_run(), 2000)
    assert modify(run, Modification(games=2000), OWNER, NOW).run.status.finished


def test_strangers_and_age_are_refused() -> None:
    with pytest.raises(faults.NotYours):
        modify(make_run(), Modification(), STRANGER, NOW)
    with pytest.raises(faults.TooOld):
        modify(make_run(), Modification(), OWNER, NOW + timedelta(days=31))
