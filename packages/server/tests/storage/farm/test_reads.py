"""What pages look up: points of charts at a time, who played, what ended."""

from dataclasses import replace

import pytest

from rookery.core.model.machine import ClaimedAbilities
from rookery.core.model.run import Run
from rookery.core.model.task import NOTHING, Tally, Task
from rookery.core.stats.residuals import Colour
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.farm import reads
from rookery.server.farm.read_values import Contribution, Grouping, TaskOrder, TaskQuery
from rookery.server.farm.reads import SLICE_TASKS, slice_runs
from rookery.server.farm.rules.answers import Changes
from rookery.server.farm.rules.purge import BadTask
from tests.makers import later, make_machine, make_plan, make_run, make_side, pairs, restarted
from tests.storage.farm.stores import (
    UNKNOWN,
    Store,
    changed,
    finished,
    kept,
    make_sample,
    make_task,
    opened,
    played,
)

pytestmark = pytest.mark.anyio

RUN = make_run("a")
BOB = make_machine("b", user="bob", modified=True)


async def test_the_last_point_up_to_a_time_is_found_for_each_run(store: Store) -> None:
    old, young = RUN, make_run("b")
    points = [make_sample(old, games) for games in (100, 200, 300)]
    await kept(store, changed(old, young), Changes(samples=(*points, make_sample(young, 500))))
    found = await store.reads.samples_at([old.id, young.id, UNKNOWN], later(250))
    assert {run: point.games for run, point in found.items()} == {old.id: 200, young.id: 500}


async def test_who_played_is_summed_up_by_user_and_by_what_they_played_with(store: Store) -> None:
    ours = ClaimedAbilities(cpu="Ryzen 9", runner="builtin")
    ada, adas = (make_machine(name, user="ada", arch="x86-64", rookery=ours) for name in "ad")
    bob = make_machine("b", user="bob")
    tasks = [
        make_task(RUN, 0, machine=ada, results=pairs(ww=1)),
        make_task(RUN, 1, machine=ada, results=pairs(ll=1)),
        make_task(RUN, 2, machine=adas, results=pairs(even=2)),
        make_task(RUN, 3, machine=bob, results=pairs(wd=1)),
        make_task(RUN, 4, machine=bob, results=pairs(ww=9), bad=True),
        make_task(RUN, 5, machine=make_machine("c", user="eve"), results=NOTHING),
    ]
    await kept(store, changed(played(RUN, *tasks), *tasks))
    both = (2, pairs(ll=1, even=2, ww=1), 2, 10), (1, pairs(wd=1), 2, 10)
    names = {
        Grouping.USER: ("ada", "bob"),
        Grouping.CPU: ("Ryzen 9", ""),
        Grouping.ARCH: ("x86-64", "unknown"),
        Grouping.RUNNER: ("builtin", ""),
    }
    assert set(await store.reads.contributions(RUN.id, 10)) == {
        Contribution(by, name, *found)
        for by, pair in names.items()
        for name, found in zip(pair, both, strict=True)
    }
    (most, *_) = await store.reads.contributions(RUN.id, 1)
    assert (most.all_groups, most.all_games) == (2, 10)
    assert {one.name for one in await store.reads.contributions(RUN.id, 1)} == {
        "ada",
        "Ryzen 9",
        "x86-64",
        "builtin",
    }


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (TaskQuery(RUN.id), [2, 1, 0]),
        (TaskQuery(RUN.id, text="ADA-4"), [1, 0]),
        (TaskQuery(RUN.id, text="%"), []),
        (TaskQuery(RUN.id, order=TaskOrder.GAMES), [1, 0, 2]),
        (TaskQuery(RUN.id, order=TaskOrder.MACHINE, descending=False), [0, 1, 2]),
        (TaskQuery(RUN.id, state="struck out"), [2]),
        (TaskQuery(RUN.id, state="crashes"), [0]),
        (TaskQuery(RUN.id, state="differing"), []),
        (TaskQuery(RUN.id, state="differing", differing=(BOB.long_name,)), [2]),
        (TaskQuery(RUN.id, first=1, count=1), [1]),
    ],
)
async def test_tasks_are_searched_sorted_and_paged(
    store: Store, query: TaskQuery, found: list[int]
) -> None:
    ada = make_machine("a", user="ada")
    tasks = [
        make_task(RUN, 0, machine=ada, results=pairs(ww=1, crashes=1)),
        make_task(RUN, 1, machine=ada, results=pairs(ll=5)),
        make_task(RUN, 2, machine=BOB, results=NOTHING, bad=True),
    ]
    struck = BadTask(replace(tasks[2], results=pairs(ww=9)), 5.0, Colour.RED)
    await kept(store, changed(played(RUN, *tasks), *tasks))
    await kept(store, Changes(tasks=(tasks[2],), bad=(struck,)))
    page = await store.reads.list_tasks(query)
    assert [task.id for task in page.tasks] == found
    before = await store.reads.struck_out(RUN.id, [task.id for task in page.tasks])
    assert {number: bad.task.results for number, bad in before.items()} == (
        {2: pairs(ww=9)} if 2 in found else {}
    )


async def test_runs_that_ended_since_are_counted_but_for_hidden_engines(store: Store) -> None:
    secret = make_plan(sides=(make_side(engine="Secret"), make_side("base", engine="Secret")))
    await kept(
        store,
        changed(
            finished("a", 10),
            finished("b", 20),
            finished("c", 30, replace(make_run("c"), plan=secret)),
            finished("d", 40, deleted=True),
            make_run("e"),
        ),
    )
    assert await store.reads.finished_since(later(15)) == 2
    assert await store.reads.finished_since(later(15), {"Secret"}) == 1


async def test_the_tasks_of_a_machine_are_found_over_runs_and_restarts(store: Store) -> None:
    other, machine = make_run("b"), make_machine("m")
    first = make_task(RUN, 0, machine=machine)
    second = make_task(other, 0, machine=restarted(machine), created=later(60))
    strange = make_task(RUN, 1, machine=make_machine("n"))
    runs = (played(RUN, first, strange), played(other, second))
    await kept(store, changed(*runs, first, strange, second))
    found = await store.reads.tasks_of_machine(machine.short_name, 10)
    assert [task.run for task in found] == [other.id, RUN.id]
    assert {run.id for run in await store.reads.runs([RUN.id, UNKNOWN])} == {RUN.id}


def test_runs_are_read_in_slices_of_about_as_many_tasks() -> None:
    sizes = [10, SLICE_TASKS, 0, SLICE_TASKS - 1, 1, 7]
    runs = [replace(make_run(), id=str(n), tally=Tally(tasks=t)) for n, t in enumerate(sizes)]
    assert [*slice_runs(runs)] == [["0", "1"], ["2", "3", "4"], ["5"]]


async def test_a_fleet_of_several_slices_is_read_whole(
    database: Target, queries: Queries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "SLICE_TASKS", 2)
    runs: list[tuple[Run, tuple[Task, ...]]] = []
    for run in (make_run(name) for name in "abcdefgh"):
        tasks = tuple(make_task(run, number, results=pairs(ww=1)) for number in range(2))
        runs.append((played(run, *tasks), tasks))
    async with opened(database, queries) as store:
        await kept(store, *(changed(run, *tasks) for run, tasks in runs))
        found = await store.reads.snapshot()
    assert (found.runs, found.corrections) == (tuple(runs), ())
    assert [each.run for each in found.played] == [run.id for run, _ in runs for _ in range(2)]
