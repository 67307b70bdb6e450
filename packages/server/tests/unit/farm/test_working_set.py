"""The working set takes up what is stored, carries moves of the life cycle out, and knows what each
machine would play.
"""

from dataclasses import replace

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model import run as faults
from rookery.core.model.events import Action
from rookery.core.model.kinds import Report
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.farm.rules import lifecycle
from rookery.server.farm.rules.answers import ComplaintWeight, StopAnswer
from rookery.server.farm.rules.assignment import Scheduler
from rookery.server.farm.rules.reception import Reception
from rookery.server.farm.rules.working_set import WorkingSet, finish_decided, settle, submit
from tests.makers import (
    BOSS,
    NOW,
    OWNER,
    STRANGER,
    call_of,
    grant,
    later,
    make_machine,
    make_plan,
    make_run,
    pairs,
    working_with,
)
from tests.unit.farm.purges import purge_after_end, purge_by_hand


def refilled(working: WorkingSet, seconds: float) -> WorkingSet:
    """The same runs and tasks in a server that was started anew."""
    fresh = WorkingSet()
    for run in working.runs().values():
        fresh.admit(run, working.tasks(run.id), later(seconds))
    return fresh


def test_workers_at_play_are_recognised_after_a_restart() -> None:
    before = working_with(make_run())
    task = grant(before, make_machine())
    working = refilled(before, 5000)
    reception = Reception(working)
    assert reception.beat(call_of(task), later(5001)).alive
    assert not reception.expire(later(5300)), "every task has a fresh period of grace"
    assert working.machines.active_of_user("wanda") == 1
    assert working.machines.past(task.machine, later(5001)).last == task.run


def test_the_next_task_after_a_restart_starts_where_the_last_one_ended() -> None:
    before = working_with(make_run())
    task = grant(before, make_machine())
    assert grant(refilled(before, 10), make_machine("other")).start == task.games


def test_a_complaint_about_a_task_that_is_over_stops_nothing() -> None:
    working = working_with(make_run())
    task = grant(working, make_machine())
    reception = Reception(working)
    reception.fail(call_of(task), "", later(1))
    outcome = reception.stop(call_of(task), "wrong bench", later(2), weight=ComplaintWeight.STOPS)
    assert outcome.answer is StopAnswer.NOT_TRUSTED
    assert not outcome.changes


def test_asking_what_a_machine_would_play_changes_nothing() -> None:
    working = working_with(make_run("a"), make_run("b"))
    task = grant(working, make_machine())
    for _ in range(3):
        chosen = working.would_play(make_machine(), later(1))
        assert chosen
        assert chosen.id != task.run
    assert Scheduler(working).next_in_line(make_machine("new"), later(1)) is not None
    assert working.task((task.run, task.id)) is task


def test_tasks_with_too_many_crashes_are_known_also_after_a_restart() -> None:
    working = working_with(make_run())
    task = grant(working, make_machine())
    grant(working, make_machine("sound"))
    crashed = pairs(even=5, crashes=4)
    Reception(working).update(call_of(task), Report(crashed), later(1000))
    for each in (working, refilled(working, 5)):
        assert [found.id for found in each.excessive(task.run)] == [task.id]


def test_a_task_that_ends_or_recovers_is_not_among_those_with_too_many_crashes() -> None:
    working = working_with(make_run())
    reception = Reception(working)
    ended, recovered = grant(working, make_machine()), grant(working, make_machine("slow"))
    for task in (ended, recovered):
        late = pairs(even=15, time_losses=4)
        reception.update(call_of(task), Report(late), later(1000))
    assert len(working.excessive(ended.run)) == 2
    more = pairs(even=25, time_losses=4)
    reception.update(call_of(recovered), Report(more), later(2000))
    reception.fail(call_of(ended), "", later(2000))
    assert not working.excessive(ended.run)


def test_a_new_run_waits_in_the_working_set() -> None:
    working = WorkingSet()
    run = make_run(approved=False)
    changes = submit(working, run, NOW)
    assert changes.runs == (run,)
    assert changes.events[0].action is Action.NEW_RUN
    assert working.would_play(make_machine(), NOW) is None
    settle(working, lifecycle.approve(run, BOSS, NOW), NOW)
    assert working.would_play(make_machine(), NOW) is not None


def test_a_stopped_run_lets_go_of_its_tasks_and_a_reopened_one_comes_back() -> None:
    working = working_with(make_run())
    task = grant(working, make_machine())
    run = working.runs()[task.run]
    changes = settle(working, lifecycle.stop(run, OWNER, NOW), NOW)
    assert [closed.id for closed in changes.closings[0].rows()] == [task.id]
    assert not Reception(working).beat(call_of(task), NOW).alive
    (stopped,) = changes.runs
    settle(working, lifecycle.reopen(stopped, OWNER, NOW), NOW)
    assert grant(working, make_machine()).start == task.games


def test_a_move_that_changes_nothing_writes_nothing() -> None:
    working = working_with(make_run())
    (run,) = working.runs().values()
    assert not settle(working, lifecycle.approve(run, BOSS, NOW), NOW)
    gone = lifecycle.stopped(make_run("b"))
    assert not settle(working, lifecycle.restore(gone, OWNER, NOW), NOW)
    assert list(working.runs()) == [run.id]


def test_a_run_with_nothing_left_to_play_is_finished() -> None:
    run = make_run(plan=make_plan(games=100))
    played = replace(run, tally=replace(run.tally, committed=100, results=pairs(even=50)))
    working = working_with(played, make_run("b"))
    changes = finish_decided(working, played, NOW)
    assert [event.action for event in changes.events] == [Action.FINISHED_RUN]
    assert list(working.runs()) == [make_run("b").id]


def test_withdrawn_approval_lets_tasks_play_on_and_gives_out_no_more() -> None:
    working = working_with(make_run())
    task = grant(working, make_machine("m1"))
    run = working.runs()[task.run]
    settle(working, lifecycle.withdraw(run, BOSS, NOW), NOW)
    assert Reception(working).beat(call_of(task), NOW).alive
    assert working.would_play(make_machine("m2"), NOW) is None


class Cheated:
    """A finished run of which one worker's results are invented."""

    def __init__(self, *, auto_purge: bool = True) -> None:
        games = 1600
        run = make_run(plan=make_plan(games=games, auto_purge=auto_purge))
        self.working = working_with(run)
        self.reception = Reception(self.working)
        self.rows: dict[int, Task] = {}
        self.run: Run = run
        honest, cheat = pairs(10, 20, 40, 20, 10), pairs(0, 0, 10, 20, 70)
        while self.working.runs():
            machine = make_machine(f"m{len(self.rows)}", cores=21)
            task = grant(self.working, machine)
            results = cheat if len(self.rows) == 3 else honest
            changes = self.reception.update(call_of(task), Report(results), later(3000)).changes
            for row in changes.tasks:
                self.rows[row.id] = row
            for row in (row for closing in changes.closings for row in closing.rows()):
                self.rows[row.id] = row
            (self.run,) = changes.runs
            if not self.run.status.finished:
                failed = self.reception.fail(call_of(task), "", later(3000)).changes
                self.rows[task.id] = failed.tasks[0]

    @property
    def tasks(self) -> list[Task]:
        return [self.rows[number] for number in sorted(self.rows)]


def test_the_purge_at_the_end_revives_a_run_that_lost_games_by_it() -> None:
    scene = Cheated()
    purged, changes = purge_after_end(scene.working, scene.run, scene.tasks, NOW)
    assert {bad.task.id for bad in purged.bad} == {3}
    assert scene.working.runs()[scene.run.id] is purged.run
    assert [event.action for event in changes.events] == [Action.PURGE_RUN]
    assert changes.tasks[0].bad
    assert grant(scene.working, make_machine("new")).start == scene.run.tally.total


def test_a_purge_that_finds_nothing_finishes_the_run() -> None:
    scene = Cheated()
    honest = [task for task in scene.tasks if task.id != 3]
    _, changes = purge_after_end(scene.working, scene.run, honest, NOW)
    assert [event.action for event in changes.events] == [Action.PURGE_RUN, Action.FINISHED_RUN]


def test_a_run_stopped_by_hand_is_purged_but_not_revived() -> None:
    scene = Cheated()
    short = replace(scene.run, plan=with_fields(scene.run.plan, games=10_000))
    purged, changes = purge_after_end(scene.working, short, scene.tasks, NOW)
    assert purged.bad
    assert not purged.revived
    assert not scene.working.runs()
    assert [event.action for event in changes.events] == [Action.PURGE_RUN]


def test_an_owner_may_purge_by_hand_and_a_stranger_may_not() -> None:
    scene = Cheated(auto_purge=False)
    with pytest.raises(faults.NotYours):
        purge_by_hand(scene.working, scene.run, scene.tasks, STRANGER, NOW)
    purged, _ = purge_by_hand(scene.working, scene.run, scene.tasks, OWNER, NOW)
    assert purged.revived
    assert purged.events[0].actor == OWNER.name
