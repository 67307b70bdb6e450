"""What is committed is what is read: one contract for PostgreSQL and its twin in memory."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.task import NOTHING, PlayedBatch, recounted
from rookery.core.stats.residuals import Colour
from rookery.server.farm.read_values import WorkerResults
from rookery.server.farm.rules.answers import (
    Changes,
    Closing,
    MachineBlock,
    MachineHistory,
    TaskSeen,
)
from rookery.server.farm.rules.purge import BadTask
from tests.makers import NOW, later, make_machine, make_run, pairs
from tests.storage.farm.stores import (
    UNKNOWN,
    Store,
    changed,
    finished,
    kept,
    make_sample,
    make_task,
    played,
)

pytestmark = pytest.mark.anyio

RUN = make_run("a")
TASK = make_task(RUN)


async def test_what_nobody_wrote_is_not_there(store: Store) -> None:
    await store.take()
    assert await store.reads.run(UNKNOWN) is None
    assert await store.reads.task(UNKNOWN, 0) is None
    assert await store.reads.tasks(UNKNOWN) == ()
    assert (await store.reads.snapshot()).runs == ()


async def test_of_a_row_that_changes_often_the_last_value_stays(store: Store) -> None:
    later_task = replace(TASK, results=pairs(ww=3), reported=later(5))
    await kept(
        store,
        changed(played(RUN, TASK), TASK),
        changed(replace(TASK, results=pairs(ww=1))),
        changed(replace(TASK, results=pairs(ww=2))),
        changed(played(RUN, later_task), later_task),
    )
    assert await store.reads.task(RUN.id, 0) == later_task
    assert await store.reads.run(RUN.id) == played(RUN, later_task)


async def test_later_commits_change_what_earlier_ones_wrote(store: Store) -> None:
    commits = await store.take()
    for wins in range(3):
        task = replace(TASK, results=pairs(ww=wins))
        await commits.wait_committed(commits.put(changed(played(RUN, task), task)))
        assert await store.reads.task(RUN.id, 0) == task
        assert await store.reads.run(RUN.id) == played(RUN, task)


async def test_a_modified_plan_is_kept(store: Store) -> None:
    commits = await store.take()
    commits.put(changed(RUN))
    longer = replace(RUN, plan=with_fields(RUN.plan, games=90_000))
    await commits.wait_committed(commits.put(changed(longer)))
    assert await store.reads.run(RUN.id) == longer


async def test_a_machine_that_describes_itself_anew_is_kept(store: Store) -> None:
    commits = await store.take()
    await commits.wait_committed(commits.put(changed(RUN, TASK)))
    again = replace(TASK, machine=with_fields(TASK.machine, nps=5e5, uname="moved", seal="s"))
    await commits.wait_committed(commits.put(changed(again)))
    found = await store.reads.task(RUN.id, 0)
    assert found == again
    assert found.machine.uname == "moved"
    assert found.machine.seal == "s"


async def test_tasks_come_in_the_order_of_their_numbers(store: Store) -> None:
    tasks = [make_task(RUN, number) for number in (2, 0, 1)]
    await kept(store, changed(RUN, *tasks))
    assert [task.id for task in await store.reads.tasks(RUN.id)] == [0, 1, 2]


async def test_a_snapshot_has_unfinished_runs_with_their_active_tasks(store: Store) -> None:
    over = replace(make_task(RUN, 1), active=False, results=pairs(ww=5))
    run = played(RUN, TASK, over)
    await kept(store, changed(run, TASK, over), changed(finished("b")))
    found = await store.reads.snapshot()
    assert found.runs == ((run, (TASK,)),)
    assert found.corrections == ()


async def test_a_snapshot_tells_who_played_what_counts(store: Store) -> None:
    over = replace(make_task(RUN, 1), active=False, results=pairs(ww=5))
    task = replace(TASK, results=pairs(even=2), machine=over.machine)
    run = played(RUN, task, over)
    await kept(store, changed(run, task, over), changed(finished("b")))
    who: Counter[tuple[str, str, str]] = Counter()
    for each in (await store.reads.snapshot()).played:
        who[each.run, each.machine, each.user] += each.games
    assert who == {(RUN.id, over.machine.short_name, over.machine.user): 14}


async def test_wrong_sums_are_put_right_and_told(store: Store) -> None:
    task = replace(TASK, results=pairs(ww=5))
    wrong = replace(RUN, tally=replace(RUN.tally, committed=3))
    await kept(store, changed(wrong, task))
    found = await store.reads.snapshot()
    right = played(RUN, task)
    assert found.runs == ((right, (task,)),)
    assert [(each.run, each.stored, each.counted) for each in found.corrections] == [
        (RUN.id, wrong.tally, right.tally)
    ]
    assert await store.reads.run(RUN.id) == right
    assert (await store.reads.snapshot()).corrections == ()


async def test_the_tasks_of_a_run_that_ends_end_with_it(store: Store) -> None:
    other = make_task(RUN, 1)
    commits = await store.take()
    commits.put(changed(played(RUN, TASK, other), TASK, other))
    closing = Closing(RUN.id, NOW, (TASK, other))
    over = replace(finished("a", run=RUN), tally=recounted(closing.rows()))
    await commits.wait_committed(commits.put(Changes(runs=(over,), closings=(closing,))))
    assert await store.reads.tasks(RUN.id) == (TASK.closed(), other.closed())
    assert await store.reads.task(RUN.id, 1) == other.closed()


async def test_a_run_that_opens_again_in_the_same_commit_has_its_old_tasks_closed(
    store: Store,
) -> None:
    commits = await store.take()
    await commits.wait_committed(commits.put(changed(played(RUN, TASK), TASK)))
    closing = Closing(RUN.id, NOW, (TASK,))
    over = replace(finished("a", run=RUN), tally=recounted(closing.rows()))
    new = make_task(RUN, 1)
    again = played(RUN, TASK.closed(), new)
    commits.put(Changes(runs=(over,), closings=(closing,)))
    await commits.wait_committed(commits.put(changed(again, new)))
    assert await store.reads.tasks(RUN.id) == (TASK.closed(), new)
    assert (await store.reads.snapshot()).runs == ((again, (new,)),)


async def test_it_is_noticed_when_sums_are_not_what_tasks_say(store: Store) -> None:
    run = make_run("a")
    tasks = [make_task(run, 0, results=pairs(ww=3)), make_task(run, 1).closed()]
    right = played(run, *tasks)
    await kept(store, changed(right, *tasks))
    assert await store.reads.agrees(run.id)
    assert await store.reads.agrees(UNKNOWN)
    wrong = replace(right, tally=replace(right.tally, committed=right.tally.committed + 1))
    await kept(store, changed(wrong))
    assert not await store.reads.agrees(run.id)


async def test_what_a_purge_struck_out_is_remembered_in_order(store: Store) -> None:
    tasks = [replace(make_task(RUN, n), active=False, results=pairs(ww=n + 1)) for n in range(3)]
    bad = tuple(BadTask(task, 10.0 * task.id, Colour.RED) for task in tasks[::-1])
    struck = Changes(tasks=tuple(each.struck for each in bad))
    await kept(store, changed(RUN, *tasks))
    await kept(store, struck + Changes(bad=bad))
    assert await store.reads.bad_tasks(RUN.id) == bad
    assert await store.reads.bad_tasks(RUN.id, 1, 1) == bad[1:2]
    assert [task.results for task in await store.reads.tasks(RUN.id)] == [NOTHING] * 3


async def test_blocks_are_put_changed_and_lifted(store: Store) -> None:
    given = [
        MachineBlock("a", "why", NOW, "olga"),
        MachineBlock("b", "no", NOW),
        MachineBlock("c", None, NOW),
    ]
    then = [MachineBlock("a", "why else", NOW, "boris"), MachineBlock("b", None, NOW)]
    await kept(store, Changes(blocks=tuple(given)), Changes(blocks=tuple(then)))
    assert (await store.reads.snapshot()).blocks == {"a": then[0]}


async def test_what_machines_played_is_remembered(store: Store) -> None:
    first, second = MachineHistory("m", (RUN.id,), RUN.id), MachineHistory("n", (), "")
    again = MachineHistory("m", (UNKNOWN, RUN.id), UNKNOWN)
    await kept(store, Changes(recalled=(first, second)), Changes(recalled=(again,)))
    await store.close()
    assert set((await store.reads.snapshot()).recalled) == {again, second}


async def test_signs_of_life_are_kept(store: Store) -> None:
    await kept(
        store, changed(RUN, TASK, make_task(RUN, 1)), Changes(seen=(TaskSeen(RUN.id, 0, NOW),))
    )
    await store.close()
    assert await store.reads.last_seen(RUN.id) == {0: NOW}
    assert await store.reads.last_seen(RUN.id, 1, 5) == {}


async def test_provenance_is_kept_in_the_order_it_came(store: Store) -> None:
    first = PlayedBatch(
        run=RUN.id,
        task=0,
        at=NOW,
        games=8,
        runner="fastchess",
        version="1.5",
        new_hash="n",
        base_hash="b",
        factor=1.25,
        latency_ms=40.5,
    )
    second = with_fields(first, games=16, at=NOW - timedelta(seconds=1))
    await kept(store, Changes(runs=(RUN,), provenance=(first, second)))
    assert await store.reads.provenance(RUN.id) == (first, second)
    assert await store.reads.provenance(RUN.id, 1, 5) == (second,)


async def test_results_are_summed_up_by_worker_without_what_was_struck_out(store: Store) -> None:
    often, bad = replace(TASK, results=pairs(ww=3)), replace(make_task(RUN, 1), bad=True)
    again = replace(TASK, id=2, results=pairs(ll=1))
    other = replace(TASK, id=3, machine=make_machine("z", modified=True), results=pairs(even=1))
    tasks = (often, replace(bad, results=pairs(even=9)), again, other)
    await kept(store, changed(RUN, *tasks))
    assert await store.reads.results_by_worker(RUN.id, 5) == (
        WorkerResults(TASK.machine.long_name, "wanda", pairs(ww=3, ll=1)),
        WorkerResults(other.machine.long_name, "wanda", pairs(even=1)),
    )
    assert len(await store.reads.results_by_worker(RUN.id, 1)) == 1


async def test_a_chart_keeps_a_few_hundred_points_however_long_the_run(store: Store) -> None:
    commits = await store.take()
    sequence = commits.put(changed(RUN))
    for games in range(2, 20_000, 14):
        sequence = commits.put(Changes(samples=(make_sample(RUN, games),)))
        if games % 400 == 2:
            await commits.wait_committed(sequence)
    await commits.wait_committed(sequence)
    found = [sample.games for sample in await store.reads.samples(RUN.id)]
    assert 128 <= len(found) <= 256
    assert found == sorted(found)
    assert found[-1] == 19_994
    assert max(b - a for a, b in pairwise(found)) < 600


async def test_a_point_of_a_chart_comes_back_as_it_was(store: Store) -> None:
    points = make_sample(RUN, 32), replace(make_sample(RUN, 64), nps=2.5e6)
    await kept(store, Changes(runs=(RUN,), samples=points))
    assert await store.reads.samples(RUN.id) == points
