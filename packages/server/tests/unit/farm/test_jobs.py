"""What the fleet does by itself, and that silence counts only while it could hear."""

from dataclasses import replace

import pytest

from rookery.core.model.kinds import Report
from rookery.core.stats.residuals import Colour
from rookery.server.farm.jobs import (
    FleetJobs,
    PeriodicJob,
    Reachability,
    SumsDisagree,
    _note_last_seen,
    attempt,
)
from rookery.server.farm.rules.answers import GO_ON
from tests.makers import call_of, make_machine, pairs, run_id
from tests.unit.farm.memory_farm import MemoryFarm, open_memory_farm

pytestmark = pytest.mark.anyio


async def listen_for(farm: MemoryFarm, listening: Reachability, seconds: float) -> None:
    """The ticks of so many seconds."""
    for _ in range(int(seconds // 5)):
        farm.clock.move(seconds=5)
        await listening()


async def test_a_task_dies_of_six_minutes_of_silence(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    await farm.fleet.update_task(call_of(task), Report(pairs(even=2)))
    farm.clock.move(seconds=361)
    await FleetJobs(farm.fleet).end_dead_tasks()
    stored = farm.stored()
    assert (stored.tally.workers, stored.tally.committed) == (0, 4)
    assert not (await farm.fleet.beat(call_of(task))).alive
    assert (await farm.granted(make_machine("n"))).start == task.games


async def test_a_beat_keeps_a_task_alive(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    for _ in range(5):
        farm.clock.move(seconds=120)
        assert await farm.fleet.beat(call_of(task)) == GO_ON
        await FleetJobs(farm.fleet).end_dead_tasks()
    assert farm.stored().tally.workers == 1


async def test_nobody_dies_while_the_loop_stood_still(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    listening = Reachability(farm.fleet, lambda: True)
    farm.clock.move(hours=2)
    await listening()
    await FleetJobs(farm.fleet).end_dead_tasks()
    assert await farm.fleet.beat(call_of(task)) == GO_ON


async def test_nobody_dies_while_another_process_may_be_primary(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    await listen_for(farm, Reachability(farm.fleet, lambda: False), 1000)
    await FleetJobs(farm.fleet).end_dead_tasks()
    assert await farm.fleet.beat(call_of(task)) == GO_ON


async def test_silence_counts_again_once_the_server_hears(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    await listen_for(farm, Reachability(farm.fleet, lambda: False), 1000)
    await listen_for(farm, Reachability(farm.fleet, lambda: True), 400)
    await FleetJobs(farm.fleet).end_dead_tasks()
    assert not (await farm.fleet.beat(call_of(task))).alive


async def test_after_a_restart_every_task_has_a_fresh_period_of_grace(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    async with open_memory_farm(farm.store) as again:
        again.clock.move(seconds=300)
        await FleetJobs(again.fleet).end_dead_tasks()
        assert await again.fleet.beat(call_of(task)) == GO_ON
        assert await again.fleet.update_task(call_of(task), Report(pairs(even=1))) == GO_ON
        assert (await again.granted(make_machine("n"))).start == task.games


async def test_speeds_are_worked_out_for_all_runs(farm: MemoryFarm) -> None:
    await farm.submit()
    await farm.granted(make_machine(nps=628_000.0))
    await FleetJobs(farm.fleet).measure_speeds()
    speed = farm.fleet.activity.speed(run_id("a"))
    assert speed.nps == 4 * 628_000
    assert speed.games_per_minute > 0


async def test_a_machine_whose_results_differ_from_the_others_stands_out(farm: MemoryFarm) -> None:
    await farm.submit()
    tasks = [await farm.granted(make_machine(name)) for name in "abcd"]
    farm.clock.move(hours=1)
    for task in tasks[1:]:
        await farm.fleet.update_task(call_of(task), Report(pairs(ld=10, even=10, wd=10)))
    await farm.fleet.update_task(call_of(tasks[0]), Report(pairs(ww=30)))
    await FleetJobs(farm.fleet).judge_tasks()
    key = (tasks[0].run, tasks[0].id)
    assert farm.fleet.activity.residual_colours[key] is Colour.RED


async def test_shares_follow_what_runs_ask_for(farm: MemoryFarm) -> None:
    await farm.submit()
    await FleetJobs(farm.fleet).refresh_shares()
    assert farm.fleet.primary.term().working.runs()[run_id("a")].share != 0


async def test_signs_of_life_are_written_in_bulk(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    farm.clock.move(seconds=30)
    await farm.fleet.beat(call_of(task))
    await FleetJobs(farm.fleet).write_last_seen()
    assert await farm.store.reads.last_seen(task.run) == {0: farm.clock.now()}


async def test_of_tasks_that_were_not_heard_since_nothing_is_written(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    heard, term = farm.clock.now(), farm.fleet.primary.term()
    farm.clock.move(seconds=30)
    now = farm.clock.now()
    assert _note_last_seen(task.run, [task], heard, term, now).changes.seen
    assert not _note_last_seen(task.run, [task], now, term, now).changes.seen


async def test_machines_that_never_came_back_are_forgotten(farm: MemoryFarm) -> None:
    machine = make_machine()
    await farm.fleet.request_task(machine, limit=1)
    farm.clock.move(days=8)
    await FleetJobs(farm.fleet).forget_machines()
    assert farm.fleet.primary.term().working.machines.get(machine.short_name) is None


async def test_machines_without_work_are_counted_while_they_still_ask(farm: MemoryFarm) -> None:
    jobs = FleetJobs(farm.fleet)
    await farm.fleet.request_task(make_machine(), limit=1)
    await jobs.count_waiting()
    assert farm.fleet.activity.waiting_machines == 1
    farm.clock.move(minutes=21)
    await jobs.count_waiting()
    assert farm.fleet.activity.waiting_machines == 0


async def test_sums_that_are_not_what_tasks_say_are_noticed(farm: MemoryFarm) -> None:
    for name in ("a", "b"):
        await farm.submit(name)
    await farm.granted()
    jobs = FleetJobs(farm.fleet)
    for _ in range(3):
        await jobs.check_sums()
    wrong = farm.store.rows.runs[run_id("b")]
    farm.store.rows.runs[run_id("b")] = replace(wrong, tally=replace(wrong.tally, total=7))
    with pytest.raises(SumsDisagree, match=run_id("b")):
        await jobs.check_sums()


async def test_a_job_that_fails_is_written_down(farm: MemoryFarm) -> None:
    async def broken() -> None:
        raise ZeroDivisionError

    await attempt(PeriodicJob("broken", 1, broken), farm.log)
    assert farm.log.fields("job_failed")["job"] == "broken"


async def test_a_job_is_put_off_while_there_is_no_working_set(farm: MemoryFarm) -> None:
    farm.fleet.primary.lost("on purpose")
    await attempt(PeriodicJob("dead tasks", 60, FleetJobs(farm.fleet).end_dead_tasks), farm.log)
    assert farm.log.fields("job_put_off")["why"] == "Rebuilding"
    await farm.rebuilt()


async def nothing() -> None:
    """A job's work."""


def test_a_job_that_takes_a_moment_does_not_miss_its_next_tick() -> None:
    job = PeriodicJob("a job", 5.0, nothing)
    job.plan_next(began=100.001, ended=100.2)
    assert job.due <= 105.0


def test_a_job_that_takes_longer_than_its_time_rests_in_between() -> None:
    job = PeriodicJob("a job", 60.0, nothing)
    job.plan_next(began=100.0, ended=190.0)
    assert job.due == 220.0
