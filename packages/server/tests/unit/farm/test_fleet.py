"""What workers and people are answered by the fleet beyond what the rules decide."""

import pytest

from rookery.core.model.kinds import Report
from rookery.core.model.plan import Modification
from rookery.core.model.run import NotYours, RunFault
from rookery.core.stats.spsa import TuneBatch
from rookery.server.farm import purges
from rookery.server.farm.fleet import DrawnValues
from rookery.server.farm.jobs import FleetJobs
from rookery.server.farm.rules.answers import DONE, OVER, HeldTask, TaskVerdict
from rookery.server.farm.views import UnknownRun, UnknownTask
from tests.eventually import eventually
from tests.makers import (
    BOSS,
    OWNER,
    STRANGER,
    call_of,
    make_machine,
    make_plan,
    pairs,
    run_id,
    sprt,
    spsa,
)
from tests.unit.farm.memory_farm import MemoryFarm, open_memory_farm

pytestmark = pytest.mark.anyio


async def test_values_are_drawn_by_the_chance_that_was_given(farm: MemoryFarm) -> None:
    await farm.submit(kind=spsa(lines="P1,100,0,200,10,0.002\nP2,10,0,20,2,0.002"))
    task = await farm.granted()
    drawn = await farm.fleet.request_spsa(call_of(task))
    assert isinstance(drawn, DrawnValues)
    assert drawn.perturbations[0].flips == (1, -1)
    assert not drawn.final


async def test_slots_beyond_the_machine_are_not_drawn(farm: MemoryFarm) -> None:
    await farm.submit(kind=spsa())
    task = await farm.granted(make_machine(cores=4))
    drawn = await farm.fleet.request_spsa(call_of(task), slots=500)
    assert isinstance(drawn, DrawnValues)
    assert len(drawn.perturbations) == 4


async def test_a_batch_with_the_drawn_signature_moves_the_tune(farm: MemoryFarm) -> None:
    await farm.submit(kind=spsa())
    task = await farm.granted()
    drawn = await farm.fleet.request_spsa(call_of(task))
    assert isinstance(drawn, DrawnValues)
    batch = TuneBatch(2, 2, 0, drawn.perturbations[0].issued.signature)
    await farm.fleet.update_task(call_of(task), Report(pairs(ww=1), (batch,)))
    kind = farm.stored().kind
    assert isinstance(kind, type(spsa()))
    assert kind.tune.thetas[0] > 100


async def test_a_dead_task_of_a_tune_gets_no_values(farm: MemoryFarm) -> None:
    run = await farm.submit(kind=spsa())
    task = await farm.granted()
    await farm.fleet.commands.stop(run.id, BOSS)
    answer = await farm.fleet.request_spsa(call_of(task))
    assert isinstance(answer, TaskVerdict)
    assert not answer.alive


async def test_a_run_that_tunes_nothing_has_no_values(farm: MemoryFarm) -> None:
    await farm.submit(kind=sprt())
    task = await farm.granted()
    with pytest.raises(RunFault, match="the run tunes no parameters"):
        await farm.fleet.request_spsa(call_of(task))
    assert farm.fleet.primary.is_serving


async def test_runs_and_tasks_that_never_were_are_named(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    with pytest.raises(UnknownRun):
        await farm.fleet.beat(HeldTask("f" * 24, 0, task.machine))
    with pytest.raises(UnknownTask):
        await farm.fleet.fail_task(HeldTask(task.run, 1, task.machine), "x")


async def test_a_late_call_about_a_finished_run_is_over_and_no_error(farm: MemoryFarm) -> None:
    run = await farm.submit()
    task = await farm.granted()
    await farm.fleet.commands.stop(run.id, BOSS)
    for _ in range(2):
        answer = await farm.fleet.update_task(call_of(task), Report(pairs(even=1)))
        assert (answer.alive, answer.error) == (False, "")


async def test_a_late_call_after_a_second_end_is_over_and_no_error(farm: MemoryFarm) -> None:
    run = await farm.submit()
    first = await farm.granted(make_machine("one"))
    await farm.fleet.commands.stop(run.id, BOSS)
    await farm.fleet.update_task(call_of(first), Report(pairs(even=1)))
    await farm.fleet.commands.reopen(run.id, BOSS)
    second = await farm.granted(make_machine("two"))
    await farm.fleet.commands.stop(run.id, BOSS)
    answer = await farm.fleet.update_task(call_of(second), Report(pairs(even=1)))
    assert (answer.alive, answer.error) == (False, "")


async def test_games_of_another_are_not_ones_own(farm: MemoryFarm) -> None:
    run = await farm.submit()
    task = await farm.granted()
    await farm.fleet.commands.stop(run.id, BOSS)
    assert await farm.fleet.views.own_task(call_of(task)) == task.closed()
    with pytest.raises(RunFault, match="the task belongs to another worker"):
        await farm.fleet.views.own_task(HeldTask(task.run, task.id, make_machine("thief")))


async def test_a_machine_goes_on_with_the_run_it_knows_after_a_restart(farm: MemoryFarm) -> None:
    await farm.submit("a")
    await farm.submit("b")
    machine = make_machine(near_api_limit=False)
    task = await farm.granted(machine)
    async with open_memory_farm(farm.store) as again:
        past = again.fleet.primary.term().working.machines.past(machine, again.clock.now())
        assert past.last == task.run


async def test_a_charts_points_are_few_and_the_end_is_one_of_them(farm: MemoryFarm) -> None:
    await farm.submit(plan=make_plan(games=20_000))
    for number in range(400):
        task = await farm.granted(make_machine(f"m{number}", cores=1))
        farm.clock.move(seconds=1)
        await farm.fleet.update_task(call_of(task), Report(pairs(even=task.games // 2)))
        if farm.stored().status.finished:
            break
    samples = await farm.store.reads.samples(run_id("a"))
    assert samples[-1].games == farm.stored().tally.results.games
    assert 20 < len(samples) < 400


async def test_a_charts_point_has_the_speed_that_was_measured_last(farm: MemoryFarm) -> None:
    await farm.submit(plan=make_plan(games=20_000))
    task = await farm.granted(make_machine(cores=4, nps=500_000.0))
    await farm.fleet.update_task(call_of(task), Report(pairs(even=10)))
    await FleetJobs(farm.fleet).measure_speeds()
    await farm.fleet.update_task(call_of(task), Report(pairs(even=20)))
    samples = await farm.store.reads.samples(run_id("a"))
    assert [each.nps for each in samples] == [None, 2_000_000]


async def finished(farm: MemoryFarm) -> None:
    await farm.fleet.commands.stop(run_id("a"), OWNER)


async def test_a_run_waits_for_approval_unless_an_approver_submitted_it(farm: MemoryFarm) -> None:
    run = await farm.submit()
    assert farm.stored().status.approved
    assert (await farm.fleet.commands.approve(run.id, BOSS)).status.approver == BOSS.name


async def test_approving_a_run_of_ones_own_again_is_no_error(farm: MemoryFarm) -> None:
    run = await farm.submit(plan=make_plan(owner=BOSS.name))
    assert (await farm.fleet.commands.approve(run.id, BOSS)).status.approved


async def test_a_stranger_stops_nothing(farm: MemoryFarm) -> None:
    run = await farm.submit()
    with pytest.raises(NotYours):
        await farm.fleet.commands.stop(run.id, STRANGER)


async def test_a_run_nobody_knows_is_named(farm: MemoryFarm) -> None:
    with pytest.raises(UnknownRun, match="f" * 24):
        await farm.fleet.commands.stop("f" * 24, BOSS)


async def test_a_finished_run_is_found_in_its_row_and_opened_again(farm: MemoryFarm) -> None:
    run = await farm.submit()
    await finished(farm)
    assert run.id not in farm.fleet.primary.term().working.runs()
    assert not (await farm.fleet.commands.reopen(run.id, OWNER)).status.finished
    assert run.id in farm.fleet.primary.term().working.runs()
    await farm.granted()


async def test_a_deleted_run_can_be_restored(farm: MemoryFarm) -> None:
    run = await farm.submit()
    await farm.fleet.commands.delete(run.id, OWNER)
    assert farm.stored().status.deleted
    await farm.fleet.commands.restore(run.id, OWNER)
    assert not farm.stored().status.deleted


async def test_a_changed_priority_is_stored(farm: MemoryFarm) -> None:
    run = await farm.submit()
    await farm.fleet.commands.modify(run.id, BOSS, Modification(priority=3))
    assert farm.stored().plan.priority == 3


async def test_a_purge_by_hand_strikes_what_can_not_be_trusted(farm: MemoryFarm) -> None:
    run = await farm.submit()
    task = await farm.granted()
    await farm.fleet.update_task(call_of(task), Report(pairs(even=20, crashes=9)))
    await finished(farm)
    purged = await farm.fleet.purges.purge(run.id, OWNER)
    assert purged.toll.tasks == 1
    assert farm.stored().tally.results.games == 0
    assert farm.store.rows.tasks[run.id, 0].bad
    assert len(await farm.store.reads.bad_tasks(run.id)) == 1


async def test_nobody_waits_for_the_purge_of_a_very_large_run(
    farm: MemoryFarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purges, "AT_ONCE", 0)
    run = await farm.submit()
    task = await farm.granted()
    await farm.fleet.update_task(call_of(task), Report(pairs(even=20, crashes=9)))
    await finished(farm)
    assert (await farm.fleet.purges.purge(run.id, OWNER)).under_way
    assert farm.store.rows.purging[run.id].actor == OWNER.name, "it is written down"
    assert (await farm.fleet.purges.purge(run.id, OWNER)).under_way, "it has not begun anew"
    await eventually(lambda: run.id not in farm.store.rows.purging)
    assert farm.stored().tally.results.games == 0


async def test_a_run_that_asked_for_it_is_purged_at_its_end(farm: MemoryFarm) -> None:
    await farm.submit(plan=make_plan(games=40, auto_purge=True))
    task = await farm.granted()
    await farm.fleet.update_task(call_of(task), Report(pairs(even=20, crashes=9)))
    await eventually(lambda: not farm.stored().status.finished)
    assert farm.stored().remaining == 40


async def test_a_blocked_machine_stays_blocked_after_a_loss(farm: MemoryFarm) -> None:
    machine = make_machine()
    await farm.fleet.commands.block(machine.short_name, "too hot", BOSS)
    farm.fleet.primary.lost("on purpose")
    await farm.rebuilt()
    assert await farm.fleet.views.blocks() == {machine.short_name: "too hot"}
    await farm.fleet.commands.block(machine.short_name, None, BOSS)
    assert farm.store.rows.blocks == {}


async def test_owners_block_their_own_machines_only(farm: MemoryFarm) -> None:
    with pytest.raises(NotYours, match="only an approver may do this"):
        await farm.fleet.commands.block("wanda-4cores-abc", "no", STRANGER)


async def test_why_a_run_does_not_move_is_told(farm: MemoryFarm) -> None:
    run = await farm.submit()
    assert "no worker" in (await farm.fleet.views.diagnosis(run.id)).sentence


async def test_the_report_that_ended_a_task_gets_the_same_answer_again(farm: MemoryFarm) -> None:
    """Its answer may get lost on the way, and then the worker or a server repeats it."""
    await farm.submit()
    task = await farm.granted()
    last = Report(pairs(even=task.games // 2))
    assert await farm.fleet.update_task(call_of(task), last) == DONE
    assert await farm.fleet.update_task(call_of(task), last) == DONE
    assert farm.stored().tally.results == last.results


async def test_a_report_that_counted_is_not_refused_after_its_task_was_taken_away(
    farm: MemoryFarm,
) -> None:
    await farm.submit()
    task = await farm.granted()
    assert (await farm.fleet.update_task(call_of(task), Report(pairs(even=2)))).alive
    await farm.granted(task.machine)
    assert await farm.fleet.update_task(call_of(task), Report(pairs(even=2))) == DONE
    assert await farm.fleet.update_task(call_of(task), Report(pairs(even=3))) == OVER
    assert farm.stored().tally.results == pairs(even=2)


async def test_an_ended_task_tells_another_worker_nothing_of_its_results(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    last = Report(pairs(even=task.games // 2))
    await farm.fleet.update_task(call_of(task), last)
    stranger = HeldTask(task.run, task.id, make_machine("m2"))
    assert await farm.fleet.update_task(stranger, last) == OVER


async def test_a_server_that_stepped_down_a_moment_ago_takes_over_again_if_it_is_named(
    farm: MemoryFarm,
) -> None:
    """The clock stands, so that the time for which it lets others go first never ends."""
    primary = farm.fleet.primary

    async def release() -> None:
        pass

    assert await primary.step_down(release)
    primary.come_forward()
    await farm.rebuilt()
