"""A diagnosis says the one thing that keeps a run from moving, by the scheduler's own rules."""

from dataclasses import replace
from datetime import datetime

from rookery.core.model.kinds import Report
from rookery.core.model.machine import ClaimedAbilities
from rookery.core.model.run import Run
from rookery.server.farm.rules import lifecycle
from rookery.server.farm.rules.answers import MachineBlock
from rookery.server.farm.rules.assignment import Scheduler
from rookery.server.farm.rules.diagnosis import FleetView, RunDiagnosis, RunFinding, diagnose
from rookery.server.farm.rules.reception import Reception
from rookery.server.farm.rules.working_set import WorkingSet
from tests.makers import (
    NOW,
    broken,
    call_of,
    grant,
    later,
    make_machine,
    make_plan,
    make_run,
    pairs,
    working_with,
)


def diagnosis(working: WorkingSet, run: Run, now: datetime = NOW) -> RunDiagnosis:
    current = working.runs().get(run.id, run)
    return diagnose(current, FleetView(working, now), now)


def finding(working: WorkingSet, run: Run, now: datetime = NOW) -> RunFinding:
    found = diagnosis(working, run, now)
    assert found.sentence
    return found.finding


def test_a_finished_run_is_finished() -> None:
    assert finding(working_with(), lifecycle.stopped(make_run())) is RunFinding.FINISHED


def test_a_failed_run_was_stopped_by_an_error() -> None:
    run = lifecycle.fail(make_run(), broken(make_run())).run
    assert finding(working_with(), run) is RunFinding.STOPPED_BY_ERROR


def test_an_unapproved_run_awaits_approval() -> None:
    run = make_run(approved=False)
    assert finding(working_with(run), run) is RunFinding.AWAITING_APPROVAL


def test_without_machines_there_are_no_workers() -> None:
    run = make_run()
    assert finding(working_with(run), run) is RunFinding.NO_WORKERS


def test_machines_that_went_away_do_not_count() -> None:
    run = make_run(plan=make_plan(threads=8))
    working = working_with(run)
    Scheduler(working).request(make_machine(), NOW)
    assert finding(working, run, later(1100)) is RunFinding.NO_ELIGIBLE_WORKERS
    assert finding(working, run, later(1300)) is RunFinding.NO_WORKERS


def test_machines_that_cannot_play_are_not_eligible_and_the_reason_is_given() -> None:
    run = make_run(plan=make_plan(threads=8))
    working = working_with(run)
    Scheduler(working).request(make_machine(cores=4), NOW)
    found = diagnosis(working, run)
    assert found.finding is RunFinding.NO_ELIGIBLE_WORKERS
    assert found.evidence == (("the run needs 8 threads, the machine has 4", "1"),)


def test_a_run_that_only_noisy_machines_could_play_says_so() -> None:
    run = make_run()
    working = working_with(run)
    noisy = make_machine(rookery=ClaimedAbilities(noisy=True))
    Scheduler(working).request(noisy, NOW)
    assert diagnosis(working, run).sentence == (
        "none of 1 machines can play the run; mostly, the run needs exact times,"
        " and the machine is noisy"
    )


def test_a_run_that_was_just_given_out_is_starting_then_running_then_stalled() -> None:
    run = make_run()
    working = working_with(run)
    task = grant(working, make_machine())
    reception = Reception(working)
    assert finding(working, run, later(60)) is RunFinding.STARTING
    reception.update(call_of(task), Report(pairs(even=2)), later(600))
    assert finding(working, run, later(700)) is RunFinding.RUNNING
    assert finding(working, run, later(600 + 3600)) is RunFinding.STALLED


def test_failures_on_two_workers_without_a_result_between_are_failing() -> None:
    run = make_run()
    working = working_with(run)
    reception = Reception(working)
    for name in ("one", "two"):
        reception.fail(call_of(grant(working, make_machine(name))), "no rule to make", NOW)
    found = diagnosis(working, run)
    assert found.finding is RunFinding.FAILING
    assert found.evidence[0][1] == "no rule to make"


def test_a_result_ends_the_failing() -> None:
    run = make_run()
    working = working_with(run)
    reception = Reception(working)
    tasks = [grant(working, make_machine(name)) for name in ("one", "two", "three")]
    for task in tasks[:2]:
        reception.fail(call_of(task), "no rule to make", NOW)
    reception.update(call_of(tasks[2]), Report(pairs(even=2)), later(600))
    assert finding(working, run, later(610)) is RunFinding.RUNNING


def test_a_run_that_a_machine_would_get_now_is_waiting() -> None:
    run = make_run("b")
    working = working_with(make_run("a"))
    grant(working, make_machine())
    working.admit(run, (), NOW)
    found = diagnosis(working, run)
    assert found.finding is RunFinding.WAITING
    assert ("next for", "1") in found.evidence


def test_a_run_below_others_of_higher_priority_is_outranked() -> None:
    run = make_run("b")
    working = working_with(make_run("a", make_plan(priority=1)), run)
    grant(working, make_machine())
    assert finding(working, run) is RunFinding.OUTRANKED


def test_a_run_behind_others_of_its_priority_has_a_low_share() -> None:
    run = make_run("b", share=1.0)
    working = working_with(*(make_run(f"a{number}") for number in range(3)), run)
    grant(working, make_machine())
    assert finding(working, run) is RunFinding.LOW_SHARE


def test_blocked_machines_are_no_part_of_the_fleet() -> None:
    run = make_run("b")
    working = working_with(make_run("a"), run)
    machine = make_machine()
    grant(working, machine)
    working.machines.blocks[machine.short_name] = MachineBlock(machine.short_name, "", NOW)
    assert finding(working, run) is RunFinding.NO_WORKERS


def test_waiting_is_said_exactly_when_a_request_would_give_the_run() -> None:
    plans = [make_plan(), make_plan(threads=2), make_plan(priority=1, threads=4), make_plan()]
    working = working_with(*(make_run(f"r{n}", plan) for n, plan in enumerate(plans)))
    assignment = Scheduler(working)
    machines = [make_machine(f"m{n}", cores=1 + n % 4) for n in range(6)]
    for machine in machines[:3]:
        grant(working, machine)
    for run in working.runs().values():
        if run.tally.workers:
            continue
        given = [assignment.next_in_line(machine, NOW) for machine in machines[:3]]
        expected = run.id in [each.id for each in given if each]
        assert (finding(working, run) is RunFinding.WAITING) == expected


def test_a_tune_of_many_cores_is_told_apart_from_a_stall() -> None:
    run = replace(make_run(), updated=later(3000))
    working = working_with(run)
    grant(working, make_machine(), later(3000))
    assert finding(working, run, later(3100)) is RunFinding.STARTING
