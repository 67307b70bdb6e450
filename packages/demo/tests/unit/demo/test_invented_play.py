"""Machines of an invented farm: they ask, give signs of life and report as real ones would."""

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import pytest

from rookery.core.model.engine import STANDARD
from rookery.core.model.events import Action
from rookery.core.model.kinds import SpsaTuning
from rookery.core.model.machine import Machine
from rookery.core.model.run import Run, create
from rookery.core.model.task import Task, contradiction
from rookery.demo.invented_play import InventedFarm, InventedFleet, count_pairs, draw_pairs
from rookery.server.farm.jobs import FleetJobs
from tests.makers import BOSS, NOW, make_machine, make_plan, make_run, run_id, spsa
from tests.unit.farm.memory_farm import MemoryFarm

pytestmark = pytest.mark.anyio

MACHINES = [make_machine(name, cores=8) for name in "mno"]


def invent_test(now: datetime) -> tuple[Run, str]:
    return create(run_id("b"), make_plan(), make_run().kind, STANDARD, now), BOSS.name


def fleet_of(farm: MemoryFarm, machines: list[Machine] = MACHINES, tests: int = 0) -> InventedFleet:
    return InventedFleet(farm.fleet, machines, tests, invent_test, Random(1))


async def live(farm: MemoryFarm, fleet: InventedFleet, seconds: int) -> None:
    for _ in range(seconds):
        farm.clock.move(seconds=1)
        await fleet.take_turn()


def test_pairs_that_are_drawn_agree_with_their_games() -> None:
    for pairs in range(1, 60):
        results = draw_pairs(Random(pairs), 3.0, pairs)
        assert results.games == 2 * pairs
        assert contradiction(results) is None


def test_a_machine_plays_as_fast_as_its_cores_and_no_more_than_its_task() -> None:
    run = make_run()
    task = Task(run.id, 0, 0, 1000, make_machine(cores=8), NOW, NOW)
    later = timedelta(seconds=10 * run.game_seconds)
    expected = 10 * run.demands.slots(8) // 2
    assert count_pairs(run, task, task.reported + later, Random(1)) in (expected, expected + 1)
    short = replace(task, games=6)
    assert count_pairs(run, short, task.reported + later, Random(1)) == 3


async def test_machines_ask_for_work_and_report(farm: MemoryFarm) -> None:
    await farm.submit()
    await live(farm, fleet_of(farm), 120)
    assert farm.stored().tally.workers == 3
    assert farm.stored().tally.results.games > 0


async def test_a_tune_moves(farm: MemoryFarm) -> None:
    await farm.submit(kind=spsa())
    await live(farm, fleet_of(farm), 120)
    kind = farm.stored().kind
    assert isinstance(kind, SpsaTuning)
    assert kind.tune.iteration > 0


async def test_no_machine_is_given_up_over_an_hour(farm: MemoryFarm) -> None:
    await farm.submit()
    fleet, chores = fleet_of(farm), FleetJobs(farm.fleet)
    for _ in range(60):
        await live(farm, fleet, 60)
        await chores.end_dead_tasks()
        await chores.end_stalled_tasks()
    assert farm.stored().tally.workers == 3
    ends = {Action.DEAD_TASK, Action.FAILED_TASK}
    assert [each for each in farm.store.rows.events if each.action in ends] == []


async def test_a_test_is_submitted_where_one_has_ended(farm: MemoryFarm) -> None:
    await farm.submit()
    await live(farm, fleet_of(farm, tests=1), 20)
    assert run_id("b") not in farm.store.rows.runs
    await farm.fleet.commands.stop(run_id("a"), BOSS)
    await live(farm, fleet_of(farm, tests=1), 20)
    assert farm.stored("b").status.approved


def test_the_twelfth_part_of_the_runs_waits_for_approval() -> None:
    assert InventedFarm(200, 1, 1).tests == 183
