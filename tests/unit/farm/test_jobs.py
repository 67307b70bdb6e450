"""What the fleet does by itself, and that silence counts only while it could hear."""

from dataclasses import replace

import pytest

from rookery.farm.jobs import Chores, PeriodicJob, Reachability, SumsDisagree, attempt
from rookery.rules.answers import GO_ON
from tests.makers import make_machine, pairs, run_id
from tests.unit.farm.stage import Stage, call_of, on_stage, report

pytestmark = pytest.mark.anyio


async def listen_for(stage: Stage, listening: Reachability, seconds: float) -> None:
    """The ticks of so many seconds."""
    for _ in range(int(seconds // 5)):
        stage.clock.move(seconds=5)
        await listening()


async def test_a_task_dies_of_six_minutes_of_silence(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    await stage.fleet.update_task(call_of(task), report(pairs(even=2)))
    stage.clock.move(seconds=361)
    await Chores(stage.fleet).bury_the_dead()
    stored = stage.stored()
    assert (stored.tally.workers, stored.tally.committed) == (0, 4)
    assert not (await stage.fleet.beat(call_of(task))).alive
    assert (await stage.granted(make_machine("n"))).start == task.games


async def test_a_beat_keeps_a_task_alive(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    for _ in range(5):
        stage.clock.move(seconds=120)
        assert await stage.fleet.beat(call_of(task)) == GO_ON
        await Chores(stage.fleet).bury_the_dead()
    assert stage.stored().tally.workers == 1


async def test_nobody_dies_while_the_loop_stood_still(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    listening = Reachability(stage.fleet, lambda: True)
    stage.clock.move(hours=2)
    await listening()
    await Chores(stage.fleet).bury_the_dead()
    assert await stage.fleet.beat(call_of(task)) == GO_ON


async def test_nobody_dies_while_another_process_may_be_primary(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    await listen_for(stage, Reachability(stage.fleet, lambda: False), 1000)
    await Chores(stage.fleet).bury_the_dead()
    assert await stage.fleet.beat(call_of(task)) == GO_ON


async def test_silence_counts_again_once_the_server_hears(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    await listen_for(stage, Reachability(stage.fleet, lambda: False), 1000)
    await listen_for(stage, Reachability(stage.fleet, lambda: True), 400)
    await Chores(stage.fleet).bury_the_dead()
    assert not (await stage.fleet.beat(call_of(task))).alive


async def test_after_a_restart_every_task_has_a_fresh_period_of_grace(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    async with on_stage(stage.store) as again:
        again.clock.move(seconds=300)
        await Chores(again.fleet).bury_the_dead()
        assert await again.fleet.beat(call_of(task)) == GO_ON
        assert await again.fleet.update_task(call_of(task), report(pairs(even=1))) == GO_ON
        assert (await again.granted(make_machine("n"))).start == task.games


async def test_speeds_are_worked_out_for_all_runs(stage: Stage) -> None:
    await stage.submit()
    await stage.granted(make_machine(nps=628_000.0))
    await Chores(stage.fleet).measure_speeds()
    pulse = stage.fleet.activity.speed(run_id("a"))
    assert pulse.nps == 4 * 628_000
    assert pulse.games_per_minute > 0


async def test_shares_follow_what_runs_ask_for(stage: Stage) -> None:
    await stage.submit()
    await Chores(stage.fleet).refresh_shares()
    assert stage.fleet.primary.term().working.runs()[run_id("a")].share != 0


async def test_signs_of_life_are_written_in_bulk(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    stage.clock.move(seconds=30)
    await stage.fleet.beat(call_of(task))
    await Chores(stage.fleet).write_last_seen()
    assert await stage.store.reads.last_seen(task.run) == {0: stage.clock.now()}


async def test_machines_that_never_came_back_are_forgotten(stage: Stage) -> None:
    machine = make_machine()
    await stage.fleet.request_task(machine, limit=1)
    stage.clock.move(days=8)
    await Chores(stage.fleet).forget_machines()
    assert stage.fleet.primary.term().working.machines.get(machine.short_name) is None


async def test_machines_without_work_are_counted_while_they_still_ask(stage: Stage) -> None:
    chores = Chores(stage.fleet)
    await stage.fleet.request_task(make_machine(), limit=1)
    await chores.count_waiting()
    assert stage.fleet.activity.waiting_machines == 1
    stage.clock.move(minutes=21)
    await chores.count_waiting()
    assert stage.fleet.activity.waiting_machines == 0


async def test_sums_that_are_not_what_tasks_say_are_noticed(stage: Stage) -> None:
    for name in ("a", "b"):
        await stage.submit(name)
    await stage.granted()
    chores = Chores(stage.fleet)
    for _ in range(3):
        await chores.check_sums()
    wrong = stage.store.rows.runs[run_id("b")]
    stage.store.rows.runs[run_id("b")] = replace(wrong, tally=replace(wrong.tally, total=7))
    with pytest.raises(SumsDisagree, match=run_id("b")):
        await chores.check_sums()


async def test_a_job_that_fails_is_written_down(stage: Stage) -> None:
    async def broken() -> None:
        raise ZeroDivisionError

    await attempt(PeriodicJob("broken", 1, broken), stage.log)
    assert stage.log.fields("job_failed")["job"] == "broken"


async def test_a_job_is_put_off_while_there_is_no_working_set(stage: Stage) -> None:
    stage.fleet.primary.lost("on purpose")
    await attempt(PeriodicJob("dead tasks", 60, Chores(stage.fleet).bury_the_dead), stage.log)
    assert stage.log.fields("job_put_off")["why"] == "Rebuilding"
    await stage.rebuilt()
