"""The life of a run follows the table; changes keep to what owner and kind may change."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from rookery.core.model import run as faults
from rookery.core.model.actor import Actor
from rookery.core.model.engine import STANDARD
from rookery.core.model.events import Action
from rookery.core.model.kinds import Fixed
from rookery.core.model.plan import Modification
from rookery.core.model.run import DisplayState, NotYours, Run, RunFault, create
from rookery.core.stats.sprt import Flag
from rookery.server.farm.rules import lifecycle as life
from rookery.server.farm.rules.lifecycle import (
    MOVES,
    Stage,
    Transition,
    TransitionResult,
    modify,
    stage,
)
from tests.makers import (
    BOSS,
    NOW,
    OWNER,
    STRANGER,
    broken,
    later,
    make_plan,
    make_run,
    pairs,
    sprt,
    spsa,
)

Deed = Callable[[Run], TransitionResult]


DEEDS: dict[Transition, Deed] = {
    Transition.APPROVE: lambda run: life.approve(run, BOSS, NOW),
    Transition.WITHDRAW: lambda run: life.withdraw(run, BOSS, NOW),
    Transition.STOP: lambda run: life.stop(run, OWNER, NOW),
    Transition.FAIL: lambda run: life.fail(run, broken(run)),
    Transition.DELETE: lambda run: life.delete(run, OWNER, NOW),
    Transition.RESTORE: lambda run: life.restore(run, OWNER, NOW),
    Transition.REOPEN: lambda run: TransitionResult(life.reopened(run)),
}


def at(where: Stage) -> Run:
    run = make_run(approved=where is not Stage.PENDING)
    match where:
        case Stage.FINISHED:
            return life.stop(run, OWNER, NOW).run
        case Stage.FAILED:
            return life.fail(run, broken(run)).run
        case Stage.DELETED:
            return life.delete(run, OWNER, NOW).run
        case _:
            return run


@pytest.mark.parametrize("where", Stage)
@pytest.mark.parametrize("move", Transition)
def test_each_move_leads_where_the_table_says_and_is_refused_where_it_says_nothing(
    where: Stage, move: Transition
) -> None:
    run, targets = at(where), MOVES[move].get(where)
    assert stage(run.status) is where
    if targets is None:
        with pytest.raises(RunFault, match="a run that is"):
            DEEDS[move](run)
    else:
        assert stage(DEEDS[move](run).run.status) in targets


@pytest.mark.parametrize("where", Stage)
@pytest.mark.parametrize("move", Transition)
def test_a_move_made_twice_is_made_once(where: Stage, move: Transition) -> None:
    if where not in MOVES[move]:
        return
    once = DEEDS[move](at(where)).run
    twice = DEEDS[move](once)
    assert twice.run is once
    assert not twice.events


def test_a_run_is_approved_by_an_approver_who_does_not_own_it() -> None:
    run = make_run(approved=False)
    approved = life.approve(run, BOSS, NOW)
    assert approved.run.status.approver == BOSS.name
    assert [event.action for event in approved.events] == [Action.APPROVE_RUN]
    with pytest.raises(NotYours, match="only an approver may do this"):
        life.approve(run, OWNER, NOW)
    with pytest.raises(NotYours, match="you can't approve your own run"):
        life.approve(run, Actor(OWNER.name, approver=True), NOW)


def test_strangers_may_do_nothing() -> None:
    run = make_run()
    for deed in (life.stop, life.delete, life.restore, life.reopen, life.restart):
        with pytest.raises(faults.NotYours):
            deed(run, STRANGER, NOW)
    with pytest.raises(NotYours, match="only an approver may do this"):
        life.withdraw(run, OWNER, NOW)


def test_a_stop_ends_all_tasks_and_sets_the_flag() -> None:
    run = make_run(cores=8)
    played = replace(run, tally=replace(run.tally, committed=500, results=pairs(ww=50)))
    stopped = life.stop(played, OWNER, NOW).run
    assert (stopped.tally.workers, stopped.tally.cores, stopped.tally.committed) == (0, 0, 100)
    assert stopped.status.flag is Flag.GREEN


def test_a_failed_run_counts_its_failures() -> None:
    failed = life.fail(make_run(), broken(make_run()))
    assert failed.run.status.failures == 1
    assert failed.events[0].actor == "wanda"
    assert failed.events[0].message == "wrong bench"
    restarted = life.restart(failed.run, BOSS, NOW).run
    again = life.fail(restarted, broken(restarted))
    assert again.run.status.failures == 2


def test_a_stopped_run_is_reopened_with_its_results() -> None:
    run = make_run()
    played = replace(run, tally=replace(run.tally, committed=100, results=pairs(even=50)))
    stopped = life.stop(played, OWNER, NOW).run
    again = life.reopen(stopped, OWNER, NOW).run
    assert again.display is DisplayState.PAUSED
    assert again.tally.results.games == 100


def test_a_decided_run_is_not_reopened() -> None:
    run = make_run(plan=make_plan(games=100))
    played = replace(run, tally=replace(run.tally, committed=100, results=pairs(even=50)))
    with pytest.raises(RunFault, match="the run is decided: there is"):
        life.reopen(life.stop(played, OWNER, NOW).run, OWNER, NOW)


def test_a_run_stopped_by_error_is_restarted_and_waits_for_an_approver() -> None:
    failed = at(Stage.FAILED)
    with pytest.raises(RunFault, match="the run was stopped by an"):
        life.reopen(failed, OWNER, NOW)
    assert stage(life.restart(failed, OWNER, NOW).run.status) is Stage.PENDING
    assert stage(life.restart(failed, BOSS, NOW).run.status) is Stage.APPROVED
    with pytest.raises(RunFault, match="the run was not stopped by"):
        life.restart(at(Stage.FINISHED), OWNER, NOW)


def test_restarting_twice_is_restarting_once() -> None:
    once = life.restart(at(Stage.FAILED), OWNER, NOW).run
    assert life.restart(once, OWNER, NOW) == life.unmoved(once)


def test_a_deleted_run_is_restored_as_it_was() -> None:
    for where in (Stage.FINISHED, Stage.FAILED):
        deleted = life.delete(at(where), OWNER, NOW).run
        assert stage(deleted.status) is Stage.DELETED
        assert stage(life.restore(deleted, OWNER, NOW).run.status) is where


def test_old_runs_rest() -> None:
    stopped = at(Stage.FINISHED)
    assert life.reopen(stopped, OWNER, NOW + timedelta(days=30)).events
    with pytest.raises(RunFault, match="older than 30 days"):
        life.reopen(stopped, OWNER, NOW + timedelta(days=31))


@pytest.mark.parametrize(
    ("run", "shown"),
    [
        (at(Stage.PENDING), DisplayState.PENDING),
        (at(Stage.APPROVED), DisplayState.PAUSED),
        (make_run(cores=4), DisplayState.ACTIVE),
        (make_run(cores=4, approved=False), DisplayState.ACTIVE),
        (at(Stage.FINISHED), DisplayState.FINISHED),
        (at(Stage.FAILED), DisplayState.FAILED),
    ],
)
def test_lists_show_the_state(run: Run, shown: DisplayState) -> None:
    assert run.display is shown


def test_a_run_is_created_unapproved_with_its_own_reference_speed() -> None:
    tiny = create("1", make_plan(engine="Tiny"), Fixed(), STANDARD, NOW, median_nps=10_000)
    assert (tiny.status.approved, tiny.reference_nps) == (False, 10_000)
    again = replace(create("2", make_plan(), Fixed(), STANDARD, later(1)), rescheduled_from="1")
    assert (again.reference_nps, again.rescheduled_from) == (628_000, "1")


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
    with pytest.raises(faults.BadGameCount):
        modify(make_run(kind=sprt()), Modification(games=games), OWNER, NOW)


def test_a_run_of_fixed_length_may_shrink_and_a_tune_may_not_change() -> None:
    assert modify(make_run(), Modification(games=1000), OWNER, NOW).run.plan.games == 1000
    with pytest.raises(faults.GamesCannotChange, match="may not grow"):
        modify(make_run(), Modification(games=50_000), OWNER, NOW)
    with pytest.raises(faults.GamesCannotChange, match="tune"):
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
    with pytest.raises(RunFault, match="the run is older than"):
        modify(make_run(), Modification(), OWNER, NOW + timedelta(days=31))
