"""The rows after a rehearsal of everything that can happen, against the rehearsal's own books."""

import pytest

from tests.storage.farm.stores import Store, WrittenRehearsal

# A rehearsal computes for longer than a loop should.
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("may_block_the_loop")]


async def check(store: Store, scene: WrittenRehearsal) -> None:
    """Every row is what it should be."""
    scene.check()
    await scene.commits.wait_committed(scene.last)
    for run in scene.runs.values():
        found = await store.reads.run(run.id)
        assert found is not None
        assert found.with_share(run.share) == run
        tasks = sorted(scene.tasks.get(run.id, {}).values(), key=lambda task: task.id)
        assert await store.reads.tasks(run.id) == tuple(tasks)


@pytest.mark.parametrize("seed", [1, 2])
async def test_rows_follow_whatever_happens(store: Store, seed: int) -> None:
    scene = WrittenRehearsal(seed, await store.take())
    for number in range(1500):
        scene.step()
        if scene.chance.random() < 0.2 and scene.last:
            await scene.commits.wait_committed(scene.last)
        if number % 500 == 499:
            await check(store, scene)


async def test_a_snapshot_is_the_working_set(store: Store) -> None:
    scene = WrittenRehearsal(3, await store.take())
    for _ in range(600):
        scene.step()
    await scene.commits.wait_committed(scene.last)
    found = await store.reads.snapshot()
    assert found.corrections == ()
    working = scene.working
    assert {run.id for run, _ in found.runs} == set(working.runs())
    for run, tasks in found.runs:
        assert run.with_share(0) == working.runs()[run.id].with_share(0)
        assert tasks == tuple(sorted(working.tasks(run.id), key=lambda task: task.id))
