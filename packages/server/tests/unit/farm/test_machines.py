"""The table of machines remembers them, their pasts and how many are at work."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rookery.core.model.task import Task
from rookery.server.farm.rules.eligibility import Past
from rookery.server.farm.rules.machines import ActiveCounts, MachineTable, RunSpan
from tests.makers import NOW, later, make_machine, restarted

MACHINE = make_machine()


def make_task(run: str, number: int = 0) -> Task:
    return Task(run, number, 0, 2, MACHINE, NOW, NOW)


def test_a_machine_remembers_its_runs() -> None:
    machines = MachineTable()
    machines.assign(make_task("one"), {})
    machines.assign(make_task("two"), {})
    assert machines.past(MACHINE, NOW) == Past({"one", "two"}, "two")
    assert machines.past(make_machine("other"), NOW) == Past()


def test_runs_that_are_over_are_forgotten_when_there_are_many() -> None:
    machines = MachineTable()
    for number in range(70):
        machines.assign(make_task(f"run{number}"), {"run5": None})
    assert machines.past(MACHINE, NOW).seen == {"run5", *(f"run{n}" for n in range(64, 70))}


def test_what_was_played_before_a_restart_of_the_server_is_recalled() -> None:
    machines = MachineTable()
    machines.restore(MACHINE.short_name, ["one"], "one")
    assert machines.past(MACHINE, NOW) == Past({"one"}, "one")
    machines.note_request(MACHINE, NOW)
    assert machines.past(MACHINE, NOW) == Past({"one"}, "one")


def test_failures_are_held_against_the_process_for_an_hour() -> None:
    machines = MachineTable()
    machines.assign(make_task("one"), {})
    machines.note_failure(make_task("one"), NOW)
    assert machines.past(MACHINE, later(3599)).failed == {"one"}
    assert not machines.past(MACHINE, later(3600)).failed
    assert not machines.past(restarted(MACHINE), NOW).failed
    machines.note_request(restarted(MACHINE), NOW)
    assert not machines.past(restarted(MACHINE), NOW).failed


def test_machines_that_went_away_are_forgotten_unless_at_work() -> None:
    machines = MachineTable()
    machines.assign(make_task("one"), {})
    machines.note_request(make_machine("idle"), NOW)
    machines.forget(machines.names(), later(1), is_active=lambda key: key == ("one", 0))
    assert [state.machine for state in machines.states()] == [MACHINE]
    machines.forget(machines.names(), later(1), is_active=lambda key: False)
    assert not list(machines.states())


def test_machines_that_asked_lately_and_are_not_at_work_wait() -> None:
    machines = MachineTable()
    machines.assign(make_task("one"), {})
    machines.note_request(make_machine("idle"), NOW)
    assert (
        len(machines.waiting(machines.names(), NOW, is_active=lambda key: key == ("one", 0))) == 1
    )
    assert len(machines.waiting(machines.names(), NOW, is_active=lambda key: False)) == 2
    assert not machines.waiting(machines.names(), later(1), is_active=lambda key: False)


def test_active_tasks_are_counted_by_user_and_address() -> None:
    machines = MachineTable()
    tasks = [make_task("one"), make_task("two")]
    for task in tasks:
        machines.assign(task, {})
    assert (machines.active_of_user("wanda"), machines.active_at_address("")) == (2, 2)
    for task in tasks:
        machines.release(task)
    assert (machines.active_of_user("wanda"), machines.active_at_address("")) == (0, 0)


def test_a_run_that_ends_counts_all_of_its_tasks_off() -> None:
    machines = MachineTable()
    for task in (make_task("one"), make_task("one"), make_task("two")):
        machines.assign(task, {})
    machines.release_run("one")
    assert (machines.active_of_user("wanda"), machines.active_at_address("")) == (1, 1)


def test_tasks_of_a_run_that_is_taken_up_again_are_counted_anew() -> None:
    machines = MachineTable()
    machines.assign(make_task("one"), {})
    machines.release_run("one")
    machines.assign(make_task("one"), {})
    assert machines.active_of_user("wanda") == 1


STEPS = st.lists(st.tuples(st.sampled_from("sler"), st.integers(0, 2), st.sampled_from("ab")))


def test_tasks_are_counted_by_name() -> None:
    counts, span = ActiveCounts(), RunSpan()
    for name in "aab":
        counts.enter(name, span)
    counts.leave("a", span)
    assert (counts.of("a"), counts.of("b"), counts.of("c")) == (1, 1, 0)


def test_a_sitting_that_is_over_counts_for_nobody() -> None:
    counts, over, other = ActiveCounts(), RunSpan(), RunSpan()
    counts.enter("a", over)
    counts.enter("a", other)
    over.over = True
    counts.end()
    assert counts.of("a") == 1


@given(STEPS)
def test_counts_are_those_of_counting_anew(steps: list[tuple[str, int, str]]) -> None:
    counts, spans = ActiveCounts(), [RunSpan(), RunSpan(), RunSpan()]
    tasks: Counter[tuple[int, str]] = Counter()
    for step, run, name in steps:
        if step == "s":
            counts.enter(name, spans[run])
            tasks[run, name] += 1
        elif step == "l" and tasks[run, name]:
            counts.leave(name, spans[run])
            tasks[run, name] -= 1
        elif step == "e":
            spans[run].over, spans[run] = True, RunSpan()
            counts.end()
            tasks[run, "a"] = tasks[run, "b"] = 0
        else:
            assert counts.of(name) == sum(tasks[each, name] for each in range(3))
