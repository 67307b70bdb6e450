"""What workers are answered beyond what the core decides."""

import pytest

from rookery.farm.fleet import Drawn
from rookery.farm.ports import NoTune, UnknownRun, UnknownTask
from rookery.model.kinds import Report
from rookery.model.run import ForeignTask
from rookery.rules.answers import HeldTask, TaskVerdict
from rookery.stats.spsa import TuneBatch
from tests.makers import BOSS, make_machine, make_plan, pairs, run_id, sprt, spsa
from tests.unit.farm.stage import Stage, call_of, on_stage, report

pytestmark = pytest.mark.anyio


async def test_values_are_drawn_by_the_chance_that_was_given(stage: Stage) -> None:
    await stage.submit(kind=spsa(lines="P1,100,0,200,10,0.002\nP2,10,0,20,2,0.002"))
    task = await stage.granted()
    drawn = await stage.fleet.request_spsa(call_of(task))
    assert isinstance(drawn, Drawn)
    assert drawn.perturbations[0].flips == (1, -1)
    assert not drawn.final


async def test_slots_beyond_the_machine_are_not_drawn(stage: Stage) -> None:
    await stage.submit(kind=spsa())
    task = await stage.granted(make_machine(cores=4))
    drawn = await stage.fleet.request_spsa(call_of(task), slots=500)
    assert isinstance(drawn, Drawn)
    assert len(drawn.perturbations) == 4


async def test_a_batch_with_the_drawn_signature_moves_the_tune(stage: Stage) -> None:
    await stage.submit(kind=spsa())
    task = await stage.granted()
    drawn = await stage.fleet.request_spsa(call_of(task))
    assert isinstance(drawn, Drawn)
    batch = TuneBatch(2, 2, 0, drawn.perturbations[0].issued.signature)
    await stage.fleet.update_task(call_of(task), Report(pairs(ww=1), (batch,)))
    kind = stage.stored().kind
    assert isinstance(kind, type(spsa()))
    assert kind.tune.thetas[0] > 100


async def test_a_dead_task_of_a_tune_gets_no_values(stage: Stage) -> None:
    run = await stage.submit(kind=spsa())
    task = await stage.granted()
    await stage.fleet.commands.stop(run.id, BOSS)
    answer = await stage.fleet.request_spsa(call_of(task))
    assert isinstance(answer, TaskVerdict)
    assert not answer.alive


async def test_a_run_that_tunes_nothing_has_no_values(stage: Stage) -> None:
    await stage.submit(kind=sprt())
    task = await stage.granted()
    with pytest.raises(NoTune):
        await stage.fleet.request_spsa(call_of(task))
    assert stage.fleet.primary.is_serving


async def test_runs_and_tasks_that_never_were_are_named(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    with pytest.raises(UnknownRun):
        await stage.fleet.beat(HeldTask("f" * 24, 0, task.machine))
    with pytest.raises(UnknownTask):
        await stage.fleet.fail_task(HeldTask(task.run, 1, task.machine), "x")


async def test_a_late_call_about_a_finished_run_is_over_and_no_error(stage: Stage) -> None:
    run = await stage.submit()
    task = await stage.granted()
    await stage.fleet.commands.stop(run.id, BOSS)
    for _ in range(2):
        answer = await stage.fleet.update_task(call_of(task), report(pairs(even=1)))
        assert (answer.alive, answer.error) == (False, "")


async def test_games_of_another_are_not_ones_own(stage: Stage) -> None:
    run = await stage.submit()
    task = await stage.granted()
    await stage.fleet.commands.stop(run.id, BOSS)
    assert await stage.fleet.views.own_task(call_of(task)) == task.closed()
    with pytest.raises(ForeignTask):
        await stage.fleet.views.own_task(HeldTask(task.run, task.id, make_machine("thief")))


async def test_a_machine_goes_on_with_the_run_it_knows_after_a_restart(stage: Stage) -> None:
    await stage.submit("a")
    await stage.submit("b")
    machine = make_machine(near_api_limit=False)
    task = await stage.granted(machine)
    async with on_stage(stage.store) as again:
        past = again.fleet.primary.term().working.machines.past(machine, again.clock.now())
        assert past.last == task.run


async def test_a_charts_points_are_few_and_the_end_is_one_of_them(stage: Stage) -> None:
    await stage.submit(plan=make_plan(games=20_000))
    for number in range(400):
        task = await stage.granted(make_machine(f"m{number}", cores=1))
        stage.clock.move(seconds=1)
        await stage.fleet.update_task(call_of(task), report(pairs(even=task.games // 2)))
        if stage.stored().status.finished:
            break
    samples = await stage.store.reads.samples(run_id("a"))
    assert samples[-1].games == stage.stored().tally.results.games
    assert 20 < len(samples) < 400
