"""What workers and people are answered by the fleet beyond what the rules decide."""

import pytest

from rookery.farm import purges
from rookery.farm.fleet import Drawn
from rookery.farm.ports import NoTune, UnknownRun, UnknownTask
from rookery.model.kinds import Report
from rookery.model.plan import Modification
from rookery.model.run import ForeignTask, NotApprover, NotYours
from rookery.rules.answers import HeldTask, TaskVerdict
from rookery.stats.spsa import TuneBatch
from tests.eventually import eventually
from tests.makers import BOSS, OWNER, STRANGER, make_machine, make_plan, pairs, run_id, sprt, spsa
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


async def finished(stage: Stage) -> None:
    await stage.fleet.commands.stop(run_id("a"), OWNER)


async def test_a_run_waits_for_approval_unless_an_approver_submitted_it(stage: Stage) -> None:
    run = await stage.submit()
    assert stage.stored().status.approved
    assert (await stage.fleet.commands.approve(run.id, BOSS)).status.approver == BOSS.name


async def test_approving_a_run_of_ones_own_again_is_no_error(stage: Stage) -> None:
    run = await stage.submit(plan=make_plan(owner=BOSS.name))
    assert (await stage.fleet.commands.approve(run.id, BOSS)).status.approved


async def test_a_stranger_stops_nothing(stage: Stage) -> None:
    run = await stage.submit()
    with pytest.raises(NotYours):
        await stage.fleet.commands.stop(run.id, STRANGER)


async def test_a_run_nobody_knows_is_named(stage: Stage) -> None:
    with pytest.raises(UnknownRun, match="f" * 24):
        await stage.fleet.commands.stop("f" * 24, BOSS)


async def test_a_finished_run_is_found_in_its_row_and_opened_again(stage: Stage) -> None:
    run = await stage.submit()
    await finished(stage)
    assert run.id not in stage.fleet.primary.term().working.runs()
    assert not (await stage.fleet.commands.reopen(run.id, OWNER)).status.finished
    assert run.id in stage.fleet.primary.term().working.runs()
    await stage.granted()


async def test_a_deleted_run_can_be_restored(stage: Stage) -> None:
    run = await stage.submit()
    await stage.fleet.commands.delete(run.id, OWNER)
    assert stage.stored().status.deleted
    await stage.fleet.commands.restore(run.id, OWNER)
    assert not stage.stored().status.deleted


async def test_a_changed_priority_is_stored(stage: Stage) -> None:
    run = await stage.submit()
    await stage.fleet.commands.modify(run.id, BOSS, Modification(priority=3))
    assert stage.stored().plan.priority == 3


async def test_a_purge_by_hand_strikes_what_can_not_be_trusted(stage: Stage) -> None:
    run = await stage.submit()
    task = await stage.granted()
    await stage.fleet.update_task(call_of(task), report(pairs(even=20, crashes=9)))
    await finished(stage)
    purged = await stage.fleet.purges.purge(run.id, OWNER)
    assert purged.toll.tasks == 1
    assert stage.stored().tally.results.games == 0
    assert stage.store.rows.tasks[run.id, 0].bad
    assert len(await stage.store.reads.bad_tasks(run.id)) == 1


async def test_nobody_waits_for_the_purge_of_a_very_large_run(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purges, "AT_ONCE", 0)
    run = await stage.submit()
    task = await stage.granted()
    await stage.fleet.update_task(call_of(task), report(pairs(even=20, crashes=9)))
    await finished(stage)
    assert (await stage.fleet.purges.purge(run.id, OWNER)).under_way
    assert stage.store.rows.purging[run.id].actor == OWNER.name, "it is written down"
    assert (await stage.fleet.purges.purge(run.id, OWNER)).under_way, "it has not begun anew"
    await eventually(lambda: run.id not in stage.store.rows.purging)
    assert stage.stored().tally.results.games == 0


async def test_a_run_that_asked_for_it_is_purged_at_its_end(stage: Stage) -> None:
    await stage.submit(plan=make_plan(games=40, auto_purge=True))
    task = await stage.granted()
    await stage.fleet.update_task(call_of(task), report(pairs(even=20, crashes=9)))
    await eventually(lambda: not stage.stored().status.finished)
    assert stage.stored().remaining == 40


async def test_a_blocked_machine_stays_blocked_after_a_loss(stage: Stage) -> None:
    machine = make_machine()
    await stage.fleet.commands.block(machine.short_name, "too hot", BOSS)
    stage.fleet.primary.lost("on purpose")
    await stage.rebuilt()
    assert await stage.fleet.views.blocks() == {machine.short_name: "too hot"}
    await stage.fleet.commands.block(machine.short_name, None, BOSS)
    assert stage.store.rows.blocks == {}


async def test_owners_block_their_own_machines_only(stage: Stage) -> None:
    with pytest.raises(NotApprover):
        await stage.fleet.commands.block("wanda-4cores-abc", "no", STRANGER)


async def test_why_a_run_does_not_move_is_told(stage: Stage) -> None:
    run = await stage.submit()
    assert "no worker" in (await stage.fleet.views.diagnosis(run.id)).sentence
