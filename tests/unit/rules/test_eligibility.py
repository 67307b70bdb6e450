"""Each filter keeps a machine from a run with a reason of its own, the first one first."""

from dataclasses import replace

import pytest

from rookery.model.engine import Catalogue, EngineRecord
from rookery.model.machine import ClaimedAbilities, Machine
from rookery.model.plan import Plan
from rookery.rules.eligibility import Filter, Past, objection
from tests.makers import ROOKERY, make_machine, make_plan, make_run, spsa


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
        (make_plan(), make_machine(rookery=ClaimedAbilities(only=("Tiny",))), Filter.NOT_WANTED),
    ],
)
def test_each_filter_gives_its_reason(plan: Plan, machine: Machine, expected: Filter) -> None:
    assert reason(plan, machine) is expected


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
