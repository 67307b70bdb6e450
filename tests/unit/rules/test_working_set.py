"""The working set takes up what is stored and knows what each machine would play."""

from rookery.model.kinds import Report
from rookery.rules.answers import ComplaintWeight, StopAnswer
from rookery.rules.assignment import Scheduler
from rookery.rules.reception import Reception
from rookery.rules.working_set import WorkingSet
from tests.makers import (
    call_of,
    grant,
    later,
    make_machine,
    make_run,
    pairs,
    working_with,
)


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
