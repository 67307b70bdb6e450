"""The store in PostgreSQL: tenures, closings that a crash interrupted, and what listeners hear."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from time import monotonic, sleep

import asyncpg
import pytest

from rookery.core.model.events import Action, about_run
from rookery.core.model.task import recounted
from rookery.server.db.fence import FencedOff
from rookery.server.db.lease import Lease
from rookery.server.db.pool import Queries
from rookery.server.db.target import Problem, Target, set_hook
from rookery.server.farm.commits import CommitLimits, StateLost
from rookery.server.farm.read_values import ChangedRuns
from rookery.server.farm.rules.answers import Changes, Closing, DoneCommand, MachineBlock
from rookery.server.farm.rules.purge import Purging
from rookery.server.farm.store import PAUSE_SECONDS, FleetStore, open_fleet_store
from rookery.server.farm.writing import PendingRows, Writer
from tests.database import pool_on
from tests.eventually import eventually
from tests.makers import NOW, later, make_run, pairs
from tests.storage.farm.stores import (
    Store,
    changed,
    finished,
    make_sample,
    make_task,
    opened,
    pending,
    played,
)

pytestmark = pytest.mark.anyio

RUN = make_run("a")
SLOWLY = CommitLimits(slice_rows=1, slice_pause=0.1)
TASKS = tuple(make_task(RUN, number) for number in range(20))


def ended() -> Changes:
    """The run and all its tasks end."""
    closing = Closing(RUN.id, NOW, TASKS)
    over = replace(finished("a", run=RUN), tally=recounted(closing.rows()))
    return Changes(runs=(over,), closings=(closing,))


@pytest.fixture
def hooks() -> Iterator[list[str]]:
    """The moments that a test's hook notes; the hook is removed afterwards."""
    yield []
    set_hook(lambda _moment: None)


async def active_rows(target: Target) -> int:
    """Task rows that say they are active, whatever their run says."""
    connection = await asyncpg.connect(**target.connect_args)
    found: int = await connection.fetchval("SELECT count(*) FROM tasks WHERE active")
    await connection.close()
    return found


async def crashed(store: FleetStore, *batches: Changes) -> None:
    """All of it committed, and the writer ended before the rows of the tasks followed."""
    commits = await store.take()
    for batch in (changed(played(RUN, *TASKS), *TASKS), *batches):
        await commits.wait_committed(commits.put(batch))
    await commits.end("a crash")


async def test_a_run_that_ended_has_no_active_task_before_their_rows_are_written(
    database: Target, queries: Queries
) -> None:
    async with opened(database, queries, SLOWLY) as store:
        await crashed(store, ended())
        assert await active_rows(database) > 0
        assert not any(task.active for task in await store.reads.tasks(RUN.id))


async def test_interrupted_closings_are_completed_by_the_next_snapshot(
    database: Target, queries: Queries
) -> None:
    async with opened(database, queries, SLOWLY) as store:
        await crashed(store, ended())
        await store.take()
        assert await active_rows(database) > 0
        assert (await store.reads.snapshot()).runs == ()
        assert await active_rows(database) == 0


async def test_old_tasks_of_a_run_that_was_opened_again_stay_closed_after_a_crash(
    database: Target, queries: Queries
) -> None:
    new = make_task(RUN, 20)
    again = played(RUN, *(task.closed() for task in TASKS), new)
    async with opened(database, queries, SLOWLY) as store:
        await crashed(store, ended(), changed(again, new))
        await store.take()
        found = await store.reads.snapshot()
        assert found.runs == ((again, (new,)),)
        assert found.corrections == ()
        assert await active_rows(database) == 1


async def test_the_end_of_the_block_writes_what_was_put(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        lease = Lease(pool, queries, instance="test", address="")
        async with open_fleet_store(pool, queries, lease) as store:
            (await store.take()).put(changed(RUN))
        assert await store.reads.run(RUN.id) == RUN
        await store.close()


async def test_closing_writes_what_was_put(database: Target, queries: Queries) -> None:
    async with opened(database, queries, CommitLimits(slice_rows=3)) as store:
        commits = await store.take()
        commits.put(changed(played(RUN, *TASKS), *TASKS))
        commits.put(ended())
    assert await active_rows(database) == 0


async def test_a_new_tenure_ends_the_old_one(postgres_store: FleetStore) -> None:
    old = await postgres_store.take()
    await old.wait_committed(old.put(changed(RUN)))
    new = await postgres_store.take()
    with pytest.raises(StateLost):
        old.put(changed(RUN))
    await new.wait_committed(new.put(changed(RUN, TASKS[0])))


async def test_sequence_numbers_go_on_over_tenures(postgres_store: FleetStore) -> None:
    first = await postgres_store.take()
    last = first.put(changed(RUN))
    await first.wait_committed(last)
    assert (await postgres_store.take()).put(changed(RUN)) == last + 1


async def test_a_primary_of_the_past_loses_its_state(database: Target, queries: Queries) -> None:
    async with opened(database, queries) as store, pool_on(database, "other") as pool:
        commits = await store.take()
        await Lease(pool, queries, instance="other", address="").take(force=True)
        with pytest.raises(StateLost):
            await commits.wait_committed(commits.put(changed(RUN)))
        assert await store.reads.run(RUN.id) is None


async def test_rows_that_vanished_are_not_taken_for_written(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database) as pool:
        lease = Lease(pool, queries, instance="test", address="")
        writer = Writer(await lease.take(), queries)
        await writer.write(pending(RUN, TASKS[0]), 1)
        await pool.execute("TRUNCATE tasks CASCADE")
        moved = replace(RUN, updated=later(1))
        with pytest.raises(Problem, match="rows that were to be changed"):
            await writer.write(pending(moved, TASKS[0]), 2)
        await writer.close()
        assert await pool.fetchval("SELECT updated FROM runs") == RUN.updated


async def test_a_round_that_waits_for_rows_of_the_backlog_writes_them_all_the_same(
    database: Target, queries: Queries
) -> None:
    """The database then looks at the rows again, as the backlog has left them."""
    async with pool_on(database) as pool, pool_on(database, "other") as other:
        fence = await Lease(pool, queries, instance="test", address="").take()
        writer = Writer(fence, queries)
        await writer.write(pending(RUN, *TASKS), 1)
        over = [replace(task, results=pairs(ww=1)) for task in TASKS]
        async with fence.write() as backlog:
            seen = [RUN.id] * len(TASKS), [task.id for task in TASKS], [NOW] * len(TASKS)
            await backlog.execute(queries["tasks_seen"], *seen)
            moved = replace(RUN, updated=later(1))
            write = asyncio.create_task(writer.write(pending(moved, *over), 2))
            waits = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = $1)"
            while not await other.fetchval(waits, "transactionid"):
                assert not write.done(), write
        await write
        await writer.close()
        sums = "SELECT count(*), sum(wins), count(seen) FROM tasks"
        assert tuple(await other.fetchrow(sums) or ()) == (len(TASKS), 2 * len(TASKS), len(TASKS))


async def test_a_pause_in_the_middle_of_a_round_loses_nothing(
    postgres_store: FleetStore, hooks: list[str]
) -> None:
    """A session that pauses for so long between two statements of a transaction is ended."""
    commits = await postgres_store.take()
    set_hook(lambda moment: sleep(1.3) if moment == "write_before_commit" else None)
    await commits.wait_committed(commits.put(changed(RUN)))
    assert await postgres_store.reads.run(RUN.id) == RUN


async def test_all_rows_of_a_round_are_one_statement(
    postgres_store: FleetStore, database: Target, hooks: list[str]
) -> None:
    """Including rows that few rounds have."""
    run = played(RUN, TASKS[0])
    rare = Changes(
        runs=(run,),
        tasks=(TASKS[0],),
        events=(about_run(Action.NEW_RUN, RUN, "ann", NOW),),
        samples=(make_sample(RUN, 8),),
        blocks=(MachineBlock("m-1cores-x", "too hot", NOW), MachineBlock("n-1cores-x", None, NOW)),
        purging=(Purging(RUN.id),),
        done=(DoneCommand("key", RUN.id),),
    )
    commits = await postgres_store.take()
    set_hook(hooks.append)
    await commits.wait_committed(commits.put(rare))
    assert hooks == ["round_taken", "write_before_commit", "write_after_commit"]
    tables = "runs", "tasks", "actions", "samples", "blocked_machines", "purges", "done_commands"
    commands = " UNION ALL ".join(f"SELECT cmin::text AS command FROM {each}" for each in tables)
    async with pool_on(database, "other") as pool:
        found = await pool.fetch(f"SELECT count(*), count(DISTINCT command) FROM ({commands}) AS c")
    assert tuple(found[0]) == (len(tables), 1)
    stored = await postgres_store.reads.snapshot()
    assert stored.runs == ((run, (TASKS[0],)),)
    assert (list(stored.blocks), stored.purging) == (["m-1cores-x"], rare.purging)
    assert await postgres_store.reads.samples(RUN.id) == rare.samples
    assert await postgres_store.reads.done_command("key") == rare.done[0]


async def test_a_fenced_writer_says_so(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        lease = Lease(pool, queries, instance="test", address="")
        writer = Writer(await lease.take(), queries)
        await lease.take()
        with pytest.raises(FencedOff):
            await writer.write(PendingRows(), 1)


async def test_listeners_hear_of_many_commits_in_few_notices(
    postgres_store: FleetStore, database: Target
) -> None:
    heard: list[object] = []
    began = monotonic()
    listener = await asyncpg.connect(**database.connect_args)
    await listener.add_listener("fleet", lambda *said: heard.append(said[-1]))
    commits = await postgres_store.take()
    for number in range(30):
        task = replace(TASKS[0], results=pairs(ww=number))
        await commits.wait_committed(commits.put(changed(played(RUN, task), task)))
    last = f'"sequence":30,"runs":["{RUN.id}"]}}'
    await eventually(lambda: heard != [] and str(heard[-1]).endswith(last))
    assert len(heard) <= 2 + (monotonic() - began) / PAUSE_SECONDS
    await listener.close()


async def test_a_heartbeat_survives_that_the_fence_is_taken_anew(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database) as pool:
        lease = Lease(pool, queries, instance="test", address="")
        await lease.take()
        for _ in range(10):
            await asyncio.gather(lease.take(), lease.renew(), lease.take(), lease.renew())
        assert lease.is_held()


async def test_rows_say_which_runs_changed_after_a_commit(store: Store) -> None:
    ended = finished("b")
    commits = await store.take()
    for run in (RUN, ended, make_run("c")):
        await commits.wait_committed(commits.put(changed(run)))
    found = await store.reads.changed(1, 10)
    assert found == ChangedRuns(3, {ended.id: 2, make_run("c").id: 3})
    assert await store.reads.changed(0, 2) == replace(found, complete=False)
