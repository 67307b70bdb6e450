"""Nothing is told before all it depends on is committed, and nothing after a loss."""

import asyncio

import pytest

from rookery.core.model.kinds import Report
from rookery.core.model.run import RunFault
from rookery.server.farm.commits import QueueFull, StateLost
from rookery.server.farm.primary import Rebuilding
from rookery.server.farm.rules.answers import GO_ON
from tests.makers import BOSS, call_of, make_machine, pairs, run_id, spsa
from tests.unit.farm.memory_farm import MemoryFarm, is_waiting, started

pytestmark = pytest.mark.anyio


async def test_a_grant_waits_for_its_commit(farm: MemoryFarm) -> None:
    await farm.submit()
    farm.store.commits.hold()
    asking = started(farm.granted())
    assert await is_waiting(asking)
    farm.store.commits.release()
    task = await asking
    assert farm.store.rows.tasks[task.run, task.id] == task


async def test_an_update_its_repeat_and_a_late_one_wait_alike(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    await farm.fleet.update_task(call_of(task), Report(pairs(even=1)))
    farm.store.commits.hold()
    updates = [
        started(farm.fleet.update_task(call_of(task), Report(results)))
        for results in (pairs(even=3), pairs(even=3), pairs(even=1))
    ]
    for update in updates:
        assert await is_waiting(update)
    farm.store.commits.release()
    assert await asyncio.gather(*updates) == [GO_ON] * 3
    assert farm.stored().tally.results == pairs(even=3)


async def test_a_living_tasks_beat_is_free(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    farm.store.commits.hold()
    update = started(farm.fleet.update_task(call_of(task), Report(pairs(even=1))))
    assert await is_waiting(update)
    assert await farm.fleet.beat(call_of(task)) == GO_ON
    farm.store.commits.release()
    await update


async def test_that_a_task_is_over_waits_for_the_commit_of_its_end(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    farm.store.commits.hold()
    stop = started(farm.fleet.commands.stop(run_id("a"), BOSS))
    beat = started(farm.fleet.beat(call_of(task)))
    assert await is_waiting(beat)
    farm.store.commits.release()
    assert not (await beat).alive
    await stop


async def test_a_refusal_that_depends_on_state_waits_too(farm: MemoryFarm) -> None:
    await farm.submit()
    farm.store.commits.hold()
    asking = started(farm.granted(make_machine("m")))
    await asyncio.sleep(0)
    thief = make_machine("t")
    stolen = call_of(next(iter(farm.fleet.primary.term().working.tasks(run_id("a")))))
    theft = started(farm.fleet.beat(type(stolen)(stolen.run, stolen.task, thief)))
    assert await is_waiting(theft)
    farm.store.commits.release()
    with pytest.raises(RunFault, match="the task belongs to another worker"):
        await theft
    await asking


async def test_reads_from_memory_wait_too(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    farm.store.commits.hold()
    update = started(farm.fleet.update_task(call_of(task), Report(pairs(even=1))))
    await asyncio.sleep(0)
    looks = [started(farm.fleet.views.run(run_id("a"))), started(farm.fleet.views.active())]
    for look in looks:
        assert await is_waiting(look)
    farm.store.commits.release()
    await update
    run = await looks[0]
    assert run == farm.stored()


async def test_flips_are_committed_before_they_are_told(farm: MemoryFarm) -> None:
    await farm.submit(kind=spsa())
    task = await farm.granted()
    farm.store.commits.hold()
    drawing = started(farm.fleet.request_spsa(call_of(task)))
    assert await is_waiting(drawing)
    farm.store.commits.release()
    await drawing
    assert farm.store.rows.tasks[task.run, task.id].ticket is not None


async def test_a_waiter_that_leaves_does_not_take_the_change_with_it(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    farm.store.commits.hold()
    update = started(farm.fleet.update_task(call_of(task), Report(pairs(even=1))))
    await asyncio.sleep(0)
    update.cancel()
    farm.store.commits.release()
    assert (await farm.fleet.views.run(run_id("a"))) == farm.stored()
    assert farm.stored().tally.results == pairs(even=1)


async def test_after_a_loss_all_who_wait_are_told_to_try_again(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    farm.store.commits.hold()
    waiting = [
        started(farm.fleet.update_task(call_of(task), Report(pairs(even=1)))),
        started(farm.fleet.update_task(call_of(task), Report(pairs(even=1)))),
    ]
    await asyncio.sleep(0)
    farm.store.commits.lose()
    for each in waiting:
        with pytest.raises(StateLost):
            await each
    with pytest.raises(Rebuilding):
        await farm.fleet.beat(call_of(task))


async def test_what_was_lost_is_forgotten_and_rows_are_the_truth(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    await farm.fleet.update_task(call_of(task), Report(pairs(even=1)))
    farm.store.commits.hold()
    lost = started(farm.fleet.update_task(call_of(task), Report(pairs(even=5))))
    await asyncio.sleep(0)
    farm.store.commits.lose()
    with pytest.raises(StateLost):
        await lost
    await farm.rebuilt()
    assert await farm.fleet.beat(call_of(task)) == GO_ON
    run = await farm.fleet.views.run(run_id("a"))
    assert run is not None
    assert run.tally.results == pairs(even=1)
    assert await farm.fleet.update_task(call_of(task), Report(pairs(even=5))) == GO_ON


async def test_a_loss_that_nobody_waited_for_is_noticed(farm: MemoryFarm) -> None:
    await farm.submit()
    farm.store.commits.lose()
    farm.fleet.primary.lost("the database went away")
    assert not farm.fleet.primary.is_serving
    await farm.rebuilt()
    await farm.granted()


async def test_a_fleet_that_cannot_be_rebuilt_tries_again(farm: MemoryFarm) -> None:
    await farm.submit()
    take, attempts = farm.store.take, []

    async def refuse_once() -> object:
        attempts.append(1)
        if len(attempts) == 1:
            raise ConnectionError
        return await take()

    farm.store.take = refuse_once  # type: ignore[method-assign, assignment]  # a database that is away
    farm.fleet.primary.lost("on purpose")
    await farm.rebuilt()
    assert farm.log.events().count("fleet_not_rebuilt") == 1


async def test_a_full_queue_changes_nothing(farm: MemoryFarm) -> None:
    await farm.submit()
    task = await farm.granted()
    farm.store.commits._most_changes = 0
    for call in (
        farm.fleet.update_task(call_of(task), Report(pairs(even=1))),
        farm.fleet.request_task(make_machine("b"), limit=9),
    ):
        with pytest.raises(QueueFull):
            await call
    working = farm.fleet.primary.term().working
    assert working.runs()[run_id("a")].tally.results.games == 0
    assert len(working.tasks(run_id("a"))) == 1
    assert await farm.fleet.beat(call_of(task)) == GO_ON


async def test_an_act_that_fails_halfway_costs_the_working_set(farm: MemoryFarm) -> None:
    await farm.submit()

    def broken(*_: object) -> object:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await farm.fleet.primary.answer(broken)  # type: ignore[arg-type]  # any act will do
    assert not farm.fleet.primary.is_serving
    await farm.rebuilt()


async def test_memory_that_belongs_to_a_lost_term_is_given_back_before_rows_are_read(
    farm: MemoryFarm,
) -> None:
    await farm.submit()
    given_back: list[bool] = []
    primary = farm.fleet.primary
    primary.on_loss(lambda: given_back.append(primary.is_serving))
    farm.store.commits.lose()
    with pytest.raises(StateLost):
        await farm.granted()
    assert given_back == [False]
    await farm.rebuilt()
    assert given_back == [False]
