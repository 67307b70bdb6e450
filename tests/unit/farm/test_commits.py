"""Nothing is told before all it depends on is committed, and nothing after a loss."""

import asyncio

import pytest

from rookery.farm.ports import QueueFull, Rebuilding, StateLost
from rookery.model.run import ForeignTask
from rookery.rules.answers import GO_ON
from tests.makers import BOSS, make_machine, pairs, run_id, spsa
from tests.unit.farm.stage import Stage, call_of, is_waiting, report, started

pytestmark = pytest.mark.anyio


async def test_a_grant_waits_for_its_commit(stage: Stage) -> None:
    await stage.submit()
    stage.store.commits.hold()
    asking = started(stage.granted())
    assert await is_waiting(asking)
    stage.store.commits.release()
    task = await asking
    assert stage.store.rows.tasks[task.run, task.id] == task


async def test_an_update_its_repeat_and_a_late_one_wait_alike(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    await stage.fleet.update_task(call_of(task), report(pairs(even=1)))
    stage.store.commits.hold()
    updates = [
        started(stage.fleet.update_task(call_of(task), report(results)))
        for results in (pairs(even=3), pairs(even=3), pairs(even=1))
    ]
    for update in updates:
        assert await is_waiting(update)
    stage.store.commits.release()
    assert await asyncio.gather(*updates) == [GO_ON] * 3
    assert stage.stored().tally.results == pairs(even=3)


async def test_a_living_tasks_beat_is_free(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    stage.store.commits.hold()
    update = started(stage.fleet.update_task(call_of(task), report(pairs(even=1))))
    assert await is_waiting(update)
    assert await stage.fleet.beat(call_of(task)) == GO_ON
    stage.store.commits.release()
    await update


async def test_that_a_task_is_over_waits_for_the_commit_of_its_end(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    stage.store.commits.hold()
    stop = started(stage.fleet.commands.stop(run_id("a"), BOSS))
    beat = started(stage.fleet.beat(call_of(task)))
    assert await is_waiting(beat)
    stage.store.commits.release()
    assert not (await beat).alive
    await stop


async def test_a_refusal_that_depends_on_state_waits_too(stage: Stage) -> None:
    await stage.submit()
    stage.store.commits.hold()
    asking = started(stage.granted(make_machine("m")))
    await asyncio.sleep(0)
    thief = make_machine("t")
    stolen = call_of(next(iter(stage.fleet.primary.term().working.tasks(run_id("a")))))
    theft = started(stage.fleet.beat(type(stolen)(stolen.run, stolen.task, thief)))
    assert await is_waiting(theft)
    stage.store.commits.release()
    with pytest.raises(ForeignTask):
        await theft
    await asking


async def test_reads_from_memory_wait_too(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    stage.store.commits.hold()
    update = started(stage.fleet.update_task(call_of(task), report(pairs(even=1))))
    await asyncio.sleep(0)
    looks = [started(stage.fleet.views.run(run_id("a"))), started(stage.fleet.views.active())]
    for look in looks:
        assert await is_waiting(look)
    stage.store.commits.release()
    await update
    run = await looks[0]
    assert run == stage.stored()


async def test_flips_are_committed_before_they_are_told(stage: Stage) -> None:
    await stage.submit(kind=spsa())
    task = await stage.granted()
    stage.store.commits.hold()
    drawing = started(stage.fleet.request_spsa(call_of(task)))
    assert await is_waiting(drawing)
    stage.store.commits.release()
    await drawing
    assert stage.store.rows.tasks[task.run, task.id].ticket is not None


async def test_a_waiter_that_leaves_does_not_take_the_change_with_it(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    stage.store.commits.hold()
    update = started(stage.fleet.update_task(call_of(task), report(pairs(even=1))))
    await asyncio.sleep(0)
    update.cancel()
    stage.store.commits.release()
    assert (await stage.fleet.views.run(run_id("a"))) == stage.stored()
    assert stage.stored().tally.results == pairs(even=1)


async def test_after_a_loss_all_who_wait_are_told_to_try_again(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    stage.store.commits.hold()
    waiting = [
        started(stage.fleet.update_task(call_of(task), report(pairs(even=1)))),
        started(stage.fleet.update_task(call_of(task), report(pairs(even=1)))),
    ]
    await asyncio.sleep(0)
    stage.store.commits.lose()
    for each in waiting:
        with pytest.raises(StateLost):
            await each
    with pytest.raises(Rebuilding):
        await stage.fleet.beat(call_of(task))


async def test_what_was_lost_is_forgotten_and_rows_are_the_truth(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    await stage.fleet.update_task(call_of(task), report(pairs(even=1)))
    stage.store.commits.hold()
    lost = started(stage.fleet.update_task(call_of(task), report(pairs(even=5))))
    await asyncio.sleep(0)
    stage.store.commits.lose()
    with pytest.raises(StateLost):
        await lost
    await stage.rebuilt()
    assert await stage.fleet.beat(call_of(task)) == GO_ON
    run = await stage.fleet.views.run(run_id("a"))
    assert run is not None
    assert run.tally.results == pairs(even=1)
    assert await stage.fleet.update_task(call_of(task), report(pairs(even=5))) == GO_ON


async def test_a_loss_that_nobody_waited_for_is_noticed(stage: Stage) -> None:
    await stage.submit()
    stage.store.commits.lose()
    stage.fleet.primary.lost("the database went away")
    assert not stage.fleet.primary.is_serving
    await stage.rebuilt()
    await stage.granted()


async def test_a_fleet_that_cannot_be_rebuilt_tries_again(stage: Stage) -> None:
    await stage.submit()
    take, attempts = stage.store.take, []

    async def refuse_once() -> object:
        attempts.append(1)
        if len(attempts) == 1:
            raise ConnectionError
        return await take()

    stage.store.take = refuse_once  # type: ignore[method-assign, assignment]  # a database that is away
    stage.fleet.primary.lost("on purpose")
    await stage.rebuilt()
    assert stage.log.events().count("fleet_not_rebuilt") == 1


async def test_a_full_queue_changes_nothing(stage: Stage) -> None:
    await stage.submit()
    task = await stage.granted()
    stage.store.commits._most_changes = 0
    for call in (
        stage.fleet.update_task(call_of(task), report(pairs(even=1))),
        stage.fleet.request_task(make_machine("b"), limit=9),
    ):
        with pytest.raises(QueueFull):
            await call
    working = stage.fleet.primary.term().working
    assert working.runs()[run_id("a")].tally.results.games == 0
    assert len(working.tasks(run_id("a"))) == 1
    assert await stage.fleet.beat(call_of(task)) == GO_ON


async def test_an_act_that_fails_halfway_costs_the_working_set(stage: Stage) -> None:
    await stage.submit()

    def broken(*_: object) -> object:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await stage.fleet.primary.answer(broken)  # type: ignore[arg-type]  # any act will do
    assert not stage.fleet.primary.is_serving
    await stage.rebuilt()
