"""The roster remembers machines, their pasts and how many are at work."""

from rookery.model.task import Task
from rookery.rules.eligibility import Past
from rookery.rules.roster import Roster
from tests.unit.core.makers import NOW, later, make_machine, restarted

MACHINE = make_machine()


def make_task(run: str, number: int = 0) -> Task:
    return Task(run, number, 0, 2, MACHINE, NOW, NOW)


def test_a_machine_remembers_its_runs() -> None:
    roster = Roster()
    roster.sit(make_task("one"), {})
    roster.sit(make_task("two"), {})
    assert roster.past(MACHINE, NOW) == Past({"one", "two"}, "two")
    assert roster.past(make_machine("other"), NOW) == Past()


def test_runs_that_are_over_are_forgotten_when_there_are_many() -> None:
    roster = Roster()
    for number in range(70):
        roster.sit(make_task(f"run{number}"), {"run5": None})
    assert roster.past(MACHINE, NOW).seen == {"run5", *(f"run{n}" for n in range(64, 70))}


def test_what_was_played_before_a_restart_of_the_server_is_recalled() -> None:
    roster = Roster()
    roster.recall(MACHINE.short_name, ["one"], "one")
    assert roster.past(MACHINE, NOW) == Past({"one"}, "one")
    roster.arrive(MACHINE, NOW)
    assert roster.past(MACHINE, NOW) == Past({"one"}, "one")


def test_failures_are_held_against_the_process_for_an_hour() -> None:
    roster = Roster()
    roster.sit(make_task("one"), {})
    roster.blame(make_task("one"), NOW)
    assert roster.past(MACHINE, later(3599)).failed == {"one"}
    assert not roster.past(MACHINE, later(3600)).failed
    assert not roster.past(restarted(MACHINE), NOW).failed
    roster.arrive(restarted(MACHINE), NOW)
    assert not roster.past(restarted(MACHINE), NOW).failed


def test_machines_that_went_away_are_forgotten_unless_at_work() -> None:
    roster = Roster()
    roster.sit(make_task("one"), {})
    roster.arrive(make_machine("idle"), NOW)
    roster.forget(roster.names(), later(1), is_active=lambda key: key == ("one", 0))
    assert [seat.machine for seat in roster.seats()] == [MACHINE]
    roster.forget(roster.names(), later(1), is_active=lambda key: False)
    assert not list(roster.seats())


def test_machines_that_asked_lately_and_are_not_at_work_wait() -> None:
    roster = Roster()
    roster.sit(make_task("one"), {})
    roster.arrive(make_machine("idle"), NOW)
    assert len(roster.waiting(roster.names(), NOW, is_active=lambda key: key == ("one", 0))) == 1
    assert len(roster.waiting(roster.names(), NOW, is_active=lambda key: False)) == 2
    assert not roster.waiting(roster.names(), later(1), is_active=lambda key: False)


def test_active_tasks_are_counted_by_user_and_address() -> None:
    roster = Roster()
    tasks = [make_task("one"), make_task("two")]
    for task in tasks:
        roster.sit(task, {})
    assert (roster.active_of_user("wanda"), roster.active_at_address("")) == (2, 2)
    for task in tasks:
        roster.rise(task)
    assert (roster.active_of_user("wanda"), roster.active_at_address("")) == (0, 0)


def test_a_run_that_ends_counts_all_of_its_tasks_off() -> None:
    roster = Roster()
    for task in (make_task("one"), make_task("one"), make_task("two")):
        roster.sit(task, {})
    roster.rise_all("one")
    assert (roster.active_of_user("wanda"), roster.active_at_address("")) == (1, 1)


def test_tasks_of_a_run_that_is_taken_up_again_are_counted_anew() -> None:
    roster = Roster()
    roster.sit(make_task("one"), {})
    roster.rise_all("one")
    roster.sit(make_task("one"), {})
    assert roster.active_of_user("wanda") == 1
