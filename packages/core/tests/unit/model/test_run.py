"""Speeds and hours as people read them."""

import pytest

from rookery.core.model.engine import EngineRecord, SpeedRecord, catalogue_of
from rookery.core.model.run import core_hours, create, games_per_minute, nodes_per_second
from tests.values import (
    NOW,
    ROOKERY,
    make_machine,
    make_plan,
    make_run,
    make_task,
    run_id,
    sprt,
)


def test_a_run_is_scaled_to_the_reference_speed_of_its_engine() -> None:
    known = EngineRecord(name="Owl", speed=SpeedRecord(reference=40_000))
    for record, reference in ((known, 40_000), (EngineRecord(name="Owl"), 30_000)):
        plan, catalogue = make_plan(engine="Owl"), catalogue_of([record])
        run = create(run_id("a"), plan, sprt(), catalogue, NOW, median_nps=30_000)
        assert run.reference_nps == reference


def test_rates_come_from_the_active_tasks() -> None:
    run, machine = make_run(), make_machine(cores=8, nps=628_000.0)
    tasks = [make_task(run, machine)]
    assert nodes_per_second(tasks) == 8 * 628_000
    assert games_per_minute(run, tasks) == pytest.approx(8 * 60 / 30.912)
    assert games_per_minute(run, [tasks[0].closed()]) == 0


def test_hours_are_those_of_one_core() -> None:
    assert core_hours(make_run(plan=make_plan(threads=2)), 3600) == pytest.approx(2 * 30.912)


def test_a_run_that_is_not_scaled_is_as_fast_on_any_machine() -> None:
    run = make_run(plan=make_plan(scaling="off"))
    machine = make_machine(cores=4, nps=1_000.0, rookery=ROOKERY)
    tasks = [make_task(run, machine)]
    assert games_per_minute(run, tasks) == pytest.approx(4 * 60 / run.game_seconds)
