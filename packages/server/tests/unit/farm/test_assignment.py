"""Requests for tasks: refusals first, then a task with games nobody else plays."""

from itertools import pairwise

import pytest
from msgspec.structs import replace

from rookery.core.model.events import Action
from rookery.core.model.kinds import Report
from rookery.core.model.machine import Machine
from rookery.server.farm.rules import lifecycle
from rookery.server.farm.rules.answers import Grant, MachineBlock, NoTask, Refusal, RefusalKind
from rookery.server.farm.rules.assignment import Scheduler
from rookery.server.farm.rules.eligibility import Filter, Policy
from rookery.server.farm.rules.lifecycle import TransitionResult
from rookery.server.farm.rules.reception import Reception
from rookery.server.farm.rules.working_set import settle
from tests.makers import (
    NOW,
    call_of,
    grant,
    later,
    make_machine,
    make_plan,
    make_run,
    pairs,
    restarted,
    sprt,
    working_with,
)


def refusal(
    assignment: Scheduler, machine: Machine, seconds: float = 0, limit: int = 16
) -> RefusalKind | None:
    answer = assignment.request(machine, later(seconds), limit=limit).answer
    return answer.kind if isinstance(answer, Refusal) else None


def test_a_task_starts_where_the_one_before_ended() -> None:
    working = working_with(make_run(kind=sprt(batch=16)))
    tasks = [grant(working, make_machine(f"m{number}", cores=number + 1)) for number in range(9)]
    assert [task.id for task in tasks] == list(range(9))
    assert tasks[0].start == 0
    for one, two in pairwise(tasks):
        assert two.start == one.start + one.games


def test_a_grant_moves_the_sums_of_its_run() -> None:
    working = working_with(make_run())
    task = grant(working, make_machine(cores=8))
    tally = working.runs()[task.run].tally
    assert (tally.workers, tally.cores, tally.committed, tally.total, tally.tasks) == (
        1,
        8,
        task.games,
        task.games,
        1,
    )


def test_a_blocked_machine_hears_why() -> None:
    working = working_with(make_run())
    machine = make_machine()
    block = MachineBlock(machine.short_name, "please update your compiler", NOW)
    working.machines.blocks[machine.short_name] = block
    answer = Scheduler(working).request(machine, NOW).answer
    assert answer == Refusal(
        RefusalKind.BLOCKED, "this machine is blocked: please update your compiler"
    )


def test_a_second_process_of_a_name_is_refused_while_the_first_was_heard_lately() -> None:
    assignment = Scheduler(working_with(make_run()))
    machine = make_machine()
    assignment.request(machine, NOW)
    again = restarted(machine)
    assert refusal(assignment, again, 120) is RefusalKind.DUPLICATE
    assert refusal(assignment, again, 121) is None


def test_the_same_process_may_ask_again_at_once_and_its_old_task_is_stale() -> None:
    working = working_with(make_run())
    task = grant(working, make_machine())
    outcome = Scheduler(working).request(make_machine(), later(1))
    assert isinstance(outcome.answer, Grant)
    assert [event.action for event in outcome.changes.events] == [Action.FAILED_TASK]
    assert working.task((task.run, task.id)) is None
    assert working.runs()[task.run].tally.workers == 1


def test_a_user_has_a_limited_number_of_machines_wherever_they_are() -> None:
    assignment = Scheduler(working_with(make_run()))
    for number in range(2):
        assignment.request(make_machine(f"m{number}", address=f"10.0.0.{number}"), NOW)
    third = make_machine("m3", address="10.0.0.3")
    assert refusal(assignment, third, limit=2) is RefusalKind.LIMIT
    assert refusal(assignment, replace(third, user="walter"), limit=2) is None
    assert refusal(assignment, make_machine("m1"), limit=2) is None, "its own task doesn't count"


def test_the_limit_may_count_addresses_instead() -> None:
    assignment = Scheduler(working_with(make_run()), Policy(limit_by_address=True))
    assignment.request(make_machine("m1", address="10.0.0.1"), NOW)
    near = make_machine("m2", user="walter", address="10.0.0.1")
    assert refusal(assignment, near, limit=1) is RefusalKind.LIMIT
    assert refusal(assignment, replace(near, address="10.0.0.2"), limit=1) is None


def test_a_users_machines_have_a_limited_number_of_cores_together() -> None:
    working = working_with(make_run(), make_run("b"))
    assignment = Scheduler(working, Policy(cores_per_user=100))
    assert refusal(assignment, roomy("m1", 65_536)) is RefusalKind.LIMIT
    assert refusal(assignment, roomy("m1", 64)) is None
    assert refusal(assignment, roomy("m2", 37)) is RefusalKind.LIMIT
    assert refusal(assignment, replace(roomy("m3", 64), user="walter")) is None
    assert refusal(assignment, roomy("m1", 64)) is None, "its own cores do not count"
    for run in tuple(working.runs().values()):
        settle(working, TransitionResult(lifecycle.stopped(run)), NOW)
    assert refusal(assignment, roomy("m2", 100)) is None


def test_users_with_a_larger_limit_of_machines_may_have_more_cores_in_proportion() -> None:
    assignment = Scheduler(working_with(make_run()), Policy(cores_per_user=100))
    assert refusal(assignment, roomy("m1", 200), limit=31) is RefusalKind.LIMIT
    assert refusal(assignment, roomy("m1", 200), limit=32) is None
    assert refusal(assignment, replace(roomy("m2", 100), user="walter"), limit=1) is None


def test_a_machine_that_claims_many_cores_shows_them_before_its_tasks_grow() -> None:
    working = working_with(make_run(plan=make_plan(games=800_000)))
    first = grant(working, roomy("m1", 512))
    assert first.games == grant(working, roomy("m2", 128)).games
    reception, seconds = Reception(working), working.runs()[first.run].game_seconds
    for turn in (1, 2):
        report = Report(pairs(even=256 * turn))
        reception.update(call_of(first), report, later(turn * seconds))
    grown = grant(working, roomy("m1", 512))
    assert grown.games == pytest.approx(4 * first.games, rel=0.01)


def roomy(name: str, cores: int) -> Machine:
    """A machine with memory for all its cores."""
    return make_machine(name, cores, memory=10**9)


def test_the_place_of_an_ended_task_is_free_again() -> None:
    working = working_with(make_run())
    assignment = Scheduler(working)
    task = grant(working, make_machine("m1"))
    assert refusal(assignment, make_machine("m2"), limit=1) is RefusalKind.LIMIT
    Reception(working).fail(call_of(task), "", NOW)
    assert refusal(assignment, make_machine("m2"), limit=1) is None


def test_who_gets_nothing_hears_why() -> None:
    runs = [make_run("a", make_plan(threads=8)), make_run("b", approved=False)]
    answer = Scheduler(working_with(*runs)).request(make_machine(cores=4), NOW).answer
    assert isinstance(answer, NoTask)
    assert {reason.filter: number for reason, number in answer.reasons} == {
        Filter.THREADS: 1,
        Filter.UNAPPROVED: 1,
    }


def test_the_last_games_go_to_one_machine_and_the_next_waits() -> None:
    working = working_with(make_run(plan=make_plan(games=10)))
    assert grant(working, make_machine("m1")).games == 10
    answer = Scheduler(working).request(make_machine("m2"), NOW).answer
    assert isinstance(answer, NoTask)


def test_cores_converge_to_the_ratio_of_the_shares() -> None:
    plans = (make_plan(owner="x", games=10**6), make_plan(throughput=50, games=10**6))
    working = working_with(*(make_run(f"r{n}", plan) for n, plan in enumerate(plans)))
    assignment = Scheduler(working)
    assignment.refresh_shares()
    for number in range(300):
        grant(working, make_machine(f"m{number:03}", cores=4, user=f"u{number}"))
        assignment.refresh_shares()
    one, two = (run.tally.cores for run in working.runs().values())
    assert one / two == pytest.approx(2, rel=0.05)


def test_next_in_line_is_what_a_request_gives() -> None:
    working = working_with(make_run("a"), make_run("b"), make_run("c", make_plan(threads=8)))
    assignment = Scheduler(working)
    for number in range(20):
        machine = make_machine(f"m{number % 3}", cores=2 + 6 * (number % 2))
        expected = assignment.next_in_line(machine, later(number))
        task = grant(working, machine, later(number))
        assert expected
        assert task.run == expected.id


def test_nobody_is_next_in_line_who_would_be_refused() -> None:
    working = working_with(make_run())
    assert Scheduler(working).next_in_line(make_machine(), NOW, limit=0) is None
