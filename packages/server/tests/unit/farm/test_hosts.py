"""Which workers run on one computer, and who sees it."""

from msgspec import UNSET

from rookery.core.model.machine import ClaimedAbilities
from rookery.server.farm.hosts import FleetSnapshot, Roster, group_hosts
from rookery.server.farm.views import KnownMachine
from tests.makers import NOW, grant, later, make_machine, make_run, working_with


def waiting(name: str, seconds: float = 0, host: str = "", user: str = "wanda") -> KnownMachine:
    told = ClaimedAbilities(host=host) if host else UNSET
    machine = make_machine(name, user=user, rookery=told)
    return KnownMachine(machine, later(seconds), later(seconds))


def test_a_worker_that_comes_back_under_another_name_is_the_same_host() -> None:
    (host,) = group_hosts([waiting("a", host="attic"), waiting("b", 60, host="attic")], later(90))
    assert [each.machine.short_name for each in host.workers] == [
        "wanda-4cores-62000000",
        "wanda-4cores-61000000",
    ]


def test_hosts_of_one_name_are_two_where_their_users_are() -> None:
    both = [waiting("a", host="attic"), waiting("b", host="attic", user="olga")]
    assert len(list(group_hosts(both, NOW))) == 2


def test_equal_official_machines_that_are_there_together_are_two_hosts() -> None:
    known = [waiting("a"), waiting("b"), waiting("c", -3600)]
    first, second = group_hosts(known, later(-60))
    assert (len(first.workers), len(second.workers)) == (2, 1)


def test_a_machine_that_waits_is_seen_by_its_owner_and_approvers_alone() -> None:
    picture = FleetSnapshot(NOW, (waiting("a"),), {}, {})
    roster = Roster(picture, picture.list_hosts())
    assert not list(roster.select_visible((), "sven", approver=False))
    assert list(roster.select_visible((), "wanda", approver=False))
    assert list(roster.select_visible((), "boris", approver=True))


def test_of_a_host_only_the_workers_are_shown_whose_run_one_may_see() -> None:
    run = make_run()
    task = grant(working_with(run), make_machine("a", rookery=ClaimedAbilities(host="attic")))
    playing = KnownMachine(task.machine, NOW, NOW, task)
    picture = FleetSnapshot(NOW, (playing, waiting("b", host="attic")), {run.id: run}, {})
    roster = Roster(picture, picture.list_hosts())
    (seen,) = roster.select_visible({run.id}, None, approver=False)
    assert [each.machine.short_name for each in seen.host.workers] == [task.machine.short_name]
    assert not list(roster.select_visible((), None, approver=False))
