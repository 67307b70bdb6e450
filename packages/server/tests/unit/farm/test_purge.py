"""Purging takes out what can't be trusted, and a run that is undecided then plays on."""

from dataclasses import replace
from datetime import timedelta

import pytest

from rookery.core.model.kinds import Kind, SprtTest
from rookery.core.model.run import Run, RunFault
from rookery.core.model.task import NOTHING, Results, Task, recounted
from rookery.core.stats.residuals import AUTOMATIC, MANUAL, Colour, PurgeRule
from rookery.server.farm.rules import lifecycle as life
from tests.makers import NOW, broken, make_machine, make_plan, make_run, pairs, sprt, spsa
from tests.unit.farm.purges import purge


def make_task(number: int, worker: str, results: Results) -> Task:
    machine = make_machine(worker)
    task = Task("", number, 1000 * number, 1000, machine, NOW, NOW, results)
    return task.closed()


VECTOR = [
    make_task(0, "a", pairs(5, 50, 100, 52, 6)),
    make_task(1, "b", pairs(4, 48, 105, 50, 5)),
    make_task(2, "c", pairs(20, 80, 90, 20, 2)),
    make_task(3, "d", pairs(0, 0, 3, 1, 0)),
]


def ended(tasks: list[Task], kind: Kind | None = None, games: int = 1000) -> Run:
    run = make_run(plan=make_plan(games=games), kind=kind)
    tally = recounted(tasks)
    judged = run.kind.rejudged(tally.results)
    return life.stopped(replace(run, tally=tally, kind=judged))


@pytest.mark.parametrize("rule", [AUTOMATIC, MANUAL])
def test_the_vectors_worst_worker_is_taken_out(rule: PurgeRule) -> None:
    purged = purge(ended(VECTOR), VECTOR, rule, NOW)
    (bad,) = purged.bad
    assert bad.task is VECTOR[2]
    assert bad.residual == pytest.approx(5.847203, abs=1e-6)
    assert bad.colour is Colour.RED


def test_struck_tasks_are_empty_and_the_sums_follow() -> None:
    purged = purge(ended(VECTOR), VECTOR, AUTOMATIC, NOW)
    struck = {bad.task.id: bad.struck for bad in purged.bad}
    left = [struck.get(task.id, task) for task in VECTOR]
    assert recounted(left) == purged.run.tally
    assert struck[2].bad
    assert struck[2].results == NOTHING


def test_crashes_and_time_losses_go_first() -> None:
    crashed = make_task(4, "e", pairs(even=10, crashes=4))
    slow = make_task(5, "f", pairs(even=20, time_losses=9))
    tasks = [*VECTOR, crashed, slow]
    purged = purge(ended(tasks), tasks, AUTOMATIC, NOW)
    assert [bad.task for bad in purged.bad] == [crashed, slow]
    assert {bad.residual for bad in purged.bad} == {10.0}


def test_a_run_of_fixed_length_plays_the_lost_games_again() -> None:
    purged = purge(ended(VECTOR), VECTOR, AUTOMATIC, NOW)
    assert purged.revived
    assert purged.run.remaining == 1000 - purged.run.tally.results.games
    assert "plays on" in (purged.events[0].message or "")


def test_a_sequential_test_is_judged_anew_without_its_overshoot() -> None:
    good = [make_task(n, f"w{n}", pairs(5, 50, 100, 50, 5)) for n in range(3)]
    cheat = make_task(3, "cheat", pairs(0, 0, 20, 40, 150))
    tasks = [*good, cheat]
    run = ended(tasks, sprt(elo0=0, elo1=5), games=800_000)
    assert run.decided
    purged = purge(run, tasks, AUTOMATIC, NOW)
    assert purged.revived
    assert isinstance(purged.run.kind, SprtTest)
    assert purged.run.kind.state.overshoot is None


def test_a_run_that_stays_decided_stays_finished() -> None:
    purged = purge(ended(VECTOR, games=100), VECTOR, AUTOMATIC, NOW)
    assert not purged.revived
    assert purged.bad


def test_purging_twice_finds_nothing_more() -> None:
    once = purge(ended(VECTOR, games=100), VECTOR, AUTOMATIC, NOW)
    struck = {bad.task.id: bad.struck for bad in once.bad}
    left = [struck.get(task.id, task) for task in VECTOR]
    twice = purge(once.run, left, AUTOMATIC, NOW)
    assert twice.run == once.run
    assert not twice.bad
    assert twice.events[0].message == "no bad tasks found"


def test_runs_that_play_failed_are_old_or_tune_are_not_purged() -> None:
    with pytest.raises(RunFault, match="the run is not finished yet"):
        purge(make_run(), [], AUTOMATIC, NOW)
    with pytest.raises(RunFault, match="the run was stopped by an"):
        purge(life.fail(make_run(), broken(make_run())).run, [], AUTOMATIC, NOW)
    with pytest.raises(RunFault, match="results of a run of kind"):
        purge(life.stopped(make_run(kind=spsa())), [], AUTOMATIC, NOW)
    with pytest.raises(RunFault, match="the run is older than"):
        purge(ended(VECTOR), VECTOR, AUTOMATIC, NOW + timedelta(days=31))
