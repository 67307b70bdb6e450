"""Each filter keeps a machine from a run with a reason of its own, the first one first, and what
is left is served in an order.
"""

from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.engine import (
    Catalogue,
    EngineRecord,
    MemoryRecord,
    RecipeRecord,
    ToolRecord,
)
from rookery.core.model.machine import ClaimedAbilities, Machine
from rookery.core.model.plan import Plan
from rookery.core.model.run import Run
from rookery.server.farm.rules.eligibility import (
    Filter,
    Past,
    choose,
    engine_loads,
    objection,
    reasons,
)
from tests.makers import ROOKERY, make_machine, make_plan, make_run, make_side, spsa


def reason(plan: Plan, machine: Machine, past: Past | None = None) -> Filter | None:
    found = objection(make_run(plan=plan), machine, past or Past())
    return found.filter if found else None


def test_a_plain_machine_may_play_a_plain_run() -> None:
    assert reason(make_plan(), make_machine()) is None


def test_an_unapproved_or_finished_run_is_for_nobody() -> None:
    run = make_run(approved=False)
    assert objection(run, make_machine()) == (Filter.UNAPPROVED, "the run awaits approval")
    done = replace(run, status=replace(run.status, finished=True))
    assert objection(done, make_machine()) == (Filter.FINISHED, "the run is finished")


@pytest.mark.parametrize(
    ("plan", "machine", "expected"),
    [
        (make_plan(threads=8), make_machine(cores=4), Filter.THREADS),
        (make_plan(), make_machine(min_threads=2), Filter.MIN_THREADS),
        (make_plan(), make_machine(memory=1000), Filter.MEMORY),
        (make_plan(), make_machine(near_api_limit=True), Filter.API_LIMIT),
        (make_plan(arch_filter="avx512"), make_machine(arch="armv8"), Filter.ARCH),
        (make_plan(compiler="clang++"), make_machine(), Filter.COMPILER),
        (make_plan(tc="N=1000"), make_machine(), Filter.NEED),
        (make_plan(), make_machine(rookery=ClaimedAbilities(noisy=True)), Filter.NOISY),
        (make_plan(), make_machine(rookery=ClaimedAbilities(only=("Tiny",))), Filter.NOT_WANTED),
    ],
)
def test_each_filter_gives_its_reason(plan: Plan, machine: Machine, expected: Filter) -> None:
    assert reason(plan, machine) is expected


@pytest.mark.parametrize("tc", ["N=1000", "D=9"])
def test_a_noisy_machine_plays_fixed_nodes_and_fixed_depth(tc: str) -> None:
    assert reason(make_plan(tc=tc), make_machine(rookery=ClaimedAbilities(noisy=True))) is None


@pytest.mark.parametrize("tc", ["10+0.1", "40/60", "MT=100"])
def test_time_on_one_side_is_enough_to_need_exact_times(tc: str) -> None:
    sides = (make_side("idea", tc=tc), make_side("master"))
    noisy = make_machine(rookery=ClaimedAbilities(noisy=True))
    assert reason(make_plan(tc="N=1000", sides=sides), noisy) is Filter.NOISY


def test_a_run_whose_games_are_all_given_out_takes_nobody() -> None:
    run = make_run()
    full = replace(run, tally=replace(run.tally, committed=run.plan.games))
    found = objection(full, make_machine())
    assert found
    assert found.filter is Filter.NO_GAMES


def test_a_tune_takes_no_more_cores_than_it_can_use() -> None:
    limit = int(spsa().core_limit)
    found = objection(make_run(kind=spsa(), cores=limit + 1), make_machine())
    assert found
    assert found.filter is Filter.CROWDED
    assert objection(make_run(kind=spsa(), cores=limit), make_machine()) is None


def test_a_worker_near_its_github_limit_may_go_on_with_what_it_has_or_is_mirrored() -> None:
    run, machine = make_run(), make_machine(near_api_limit=True)
    assert objection(run, machine, Past(seen={run.id})) is None
    mirrored = make_run(plan=make_plan(mirrored=True))
    assert objection(mirrored, machine) is None


def test_a_worker_is_not_given_again_what_it_failed_to_build() -> None:
    run = make_run()
    found = objection(run, make_machine(), Past(failed={run.id}))
    assert found
    assert found.filter is Filter.FAILED_HERE


def test_the_first_filter_is_the_reason() -> None:
    plan = make_plan(threads=8, tc="N=1000", compiler="clang++")
    assert reason(plan, make_machine(cores=4)) is Filter.THREADS
    assert reason(plan, make_machine(cores=8)) is Filter.COMPILER


def test_a_private_engine_is_for_its_team() -> None:
    secret = Catalogue({"Secret": EngineRecord(name="Secret", team="cabal", private=True)})
    run = make_run(plan=make_plan(engine="Secret"), catalogue=secret)
    member = make_machine(rookery=ROOKERY, teams=frozenset({"cabal"}))
    assert objection(run, member) is None
    assert objection(run, make_machine(rookery=ROOKERY)) is not None
    assert objection(run, make_machine()) is not None


@pytest.mark.parametrize(
    ("kept_back", "expected"),
    [
        ({"recipe": RecipeRecord(kind="stockfish")}, None),
        ({"tools": (ToolRecord("zig", "0.13"),)}, Filter.NEED),
        ({"cpu_flags": ("avx512f",)}, Filter.NEED),
        ({"systems": ("darwin", "freebsd")}, Filter.NEED),
        ({"sandboxed": True}, Filter.NEED),
        ({"memory": MemoryRecord(machine=64_001)}, Filter.MEMORY),
        ({"memory": MemoryRecord(process=8_001)}, Filter.MEMORY),
        ({"memory": MemoryRecord(thread=8_001)}, Filter.MEMORY),
    ],
)
def test_a_machine_is_given_no_engine_whose_record_asks_for_more(
    kept_back: dict[str, Any], expected: Filter | None
) -> None:
    record = EngineRecord(**{"name": "Owl", **kept_back})
    run = make_run(plan=make_plan(engine="Owl"), catalogue=Catalogue({"Owl": record}))
    found = objection(run, make_machine(rookery=ROOKERY))
    assert (found and found.filter) is expected


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
    focused = make_machine(rookery=with_fields(ROOKERY, focus=("Tiny",)))
    assert choose([high, wanted], make_machine(rookery=ROOKERY)) == high
    assert choose([high, wanted], focused) == wanted


def test_reasons_are_counted_over_all_runs() -> None:
    runs = [make_run("a", make_plan(threads=8)), make_run("b", make_plan(threads=8)), make_run("c")]
    assert list(reasons(runs, make_machine()).values()) == [2]
