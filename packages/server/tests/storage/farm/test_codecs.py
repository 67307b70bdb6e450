"""Whatever a run or a task is, it comes out of its rows as it went in."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as with_fields

from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.db.target import Problem
from rookery.server.farm.commits import CommitQueue
from rookery.server.farm.store import FleetStore
from tests.makers import make_run
from tests.storage.farm.stores import changed, kept, make_task
from tests.storage.farm.strategies import runs, tasks

pytestmark = pytest.mark.anyio

AGAINST_ROWS = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

_numbers = itertools.count(1)


def another_run() -> Run:
    return make_run(f"run {next(_numbers)}")


@pytest.fixture
async def commits(postgres_store: FleetStore) -> CommitQueue:
    """One for all examples: each has runs of its own."""
    return await postgres_store.take()


@AGAINST_ROWS
@given(runs())
async def test_a_run_comes_back_as_it_was(
    postgres_store: FleetStore, commits: CommitQueue, run: Run
) -> None:
    run = replace(run, id=another_run().id)
    await commits.wait_committed(commits.put(changed(run)))
    assert await postgres_store.reads.run(run.id) == run


@AGAINST_ROWS
@given(st.lists(tasks, min_size=1, max_size=6))
async def test_a_task_comes_back_as_it_was(
    postgres_store: FleetStore, commits: CommitQueue, some: list[Task]
) -> None:
    """Whether it is new, was written before, or comes more than once."""
    run = another_run()
    commits.put(changed(run))
    last = {task.id: replace(task, run=run.id) for task in some}
    for task in some:
        first = replace(last[task.id], results=task.results, ticket=task.ticket)
        sequence = commits.put(changed(first))
        if task.active:
            await commits.wait_committed(sequence)
    await commits.wait_committed(commits.put(changed(*last.values())))
    found = await postgres_store.reads.tasks(run.id)
    assert {task.id: task for task in found} == last


async def test_a_row_of_an_unknown_kind_is_named(postgres_store: FleetStore) -> None:
    await kept(postgres_store, changed(make_run("a")))
    await postgres_store.reads._pool.execute("UPDATE runs SET kind = 'gauntlet'")
    with pytest.raises(Problem, match="gauntlet"):
        await postgres_store.reads.run(make_run("a").id)


async def test_texts_that_postgres_refuses_are_replaced(postgres_store: FleetStore) -> None:
    run = make_run("a")
    machine = with_fields(
        make_task(run).machine, compiler="a\0b", uname="c\ud800", engine_arch="\\u0000"
    )
    named = replace(run, plan=with_fields(run.plan, info="x\0", owner="\0"))
    await kept(postgres_store, changed(named, replace(make_task(run), machine=machine)))
    found = await postgres_store.reads.task(run.id, 0)
    assert found is not None
    assert (found.machine.compiler, found.machine.uname) == ("a\ufffdb", "c?")
    assert found.machine.engine_arch == "\\u0000"
