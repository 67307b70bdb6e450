"""Machines go by a stable short name and a long one per process."""

from tests.values import make_machine, restarted


def test_the_short_name_survives_a_restart_and_the_long_one_does_not() -> None:
    machine = make_machine("ab", cores=8)
    again = restarted(machine)
    assert machine.short_name == "wanda-8cores-61620000" == again.short_name
    assert machine.long_name == "wanda-8cores-61620000-1111" != again.long_name


def test_a_modified_worker_has_a_star() -> None:
    assert make_machine(modified=True).long_name.endswith("*")


def test_machines_of_like_speed_share_a_pace_class() -> None:
    slow, fast = make_machine(nps=500_000), make_machine(nps=2_000_000)
    assert slow.pace_class == make_machine(nps=510_000).pace_class != fast.pace_class
    assert make_machine(nps=0).pace_class == "unknown/?"
