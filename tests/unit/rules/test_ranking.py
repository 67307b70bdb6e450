"""The order in which runs are served."""

from msgspec.structs import replace

from rookery.model.machine import Machine
from rookery.model.run import Run
from rookery.rules.eligibility import Past, choose, engine_loads, reasons
from tests.makers import ROOKERY, make_machine, make_plan, make_run


def chosen(*runs: Run, machine: Machine | None = None, past: Past | None = None) -> str | None:
    found = choose(runs, machine or make_machine(), past or Past())
    return found.id if found else None


def test_the_higher_priority_run_goes_first() -> None:
    low, high = make_run("a"), make_run("b", make_plan(priority=1), cores=100)
    assert chosen(low, high) == high.id


def test_every_run_gets_some_core_first() -> None:
    busy, idle = make_run("a", cores=1, share=500), make_run("b", share=1)
    assert chosen(busy, idle) == idle.id


def test_cores_go_in_proportion_to_the_shares() -> None:
    small, large = make_run("a", cores=40, share=50), make_run("b", cores=60, share=100)
    assert chosen(small, large) == large.id


def test_the_asking_machine_counts_in_half() -> None:
    one, two = make_run("a", cores=2, share=10), make_run("b", cores=1, share=6)
    assert chosen(one, two, machine=make_machine(cores=1)) == one.id
    far = make_run("c", cores=1, share=1), make_run("d", cores=30, share=10)
    assert chosen(*far, machine=make_machine(cores=1)) == far[0].id
    assert chosen(*far, machine=make_machine(cores=64)) == far[1].id


def test_a_machine_moves_on_from_the_run_it_played_last() -> None:
    one, two = make_run("a", cores=1), make_run("b", cores=2)
    assert chosen(one, two) == one.id
    assert chosen(one, two, past=Past(last=one.id)) == two.id


def test_equal_claims_are_settled_by_age() -> None:
    assert chosen(make_run("b"), make_run("a")) == make_run("a").id


def test_engines_share_the_fleet_before_their_runs_do() -> None:
    crowd = [make_run(f"s{number}", cores=10) for number in range(5)]
    lone = make_run("t", make_plan(engine="Tiny"), cores=40)
    able = make_machine(rookery=ROOKERY)
    assert choose([*crowd, lone], able) == lone
    weights = engine_loads([*crowd, lone], {"Stockfish": 3.0})
    assert choose([*crowd, lone], able, loads=weights) in crowd


def test_focus_comes_before_priority() -> None:
    high, wanted = make_run("a", make_plan(priority=9)), make_run("b", make_plan(engine="Tiny"))
    focused = make_machine(rookery=replace(ROOKERY, focus=("Tiny",)))
    assert choose([high, wanted], make_machine(rookery=ROOKERY)) == high
    assert choose([high, wanted], focused) == wanted


def test_reasons_are_counted_over_all_runs() -> None:
    runs = [make_run("a", make_plan(threads=8)), make_run("b", make_plan(threads=8)), make_run("c")]
    assert list(reasons(runs, make_machine()).values()) == [2]
