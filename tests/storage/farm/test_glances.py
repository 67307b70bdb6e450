"""What pages look up: points of charts at a time, who played, what ended."""

from dataclasses import replace

import pytest

from rookery.farm.read_values import Contribution
from rookery.model.task import NOTHING
from rookery.rules.answers import Changes
from tests.makers import later, make_machine, make_plan, make_run, make_side, pairs
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


async def test_the_last_point_up_to_a_time_is_found_for_each_run(store: Store) -> None:
    old, young = RUN, make_run("b")
    points = [make_sample(old, games) for games in (100, 200, 300)]
    await kept(store, changed(old, young), Changes(samples=(*points, make_sample(young, 500))))
    found = await store.reads.samples_at([old.id, young.id, UNKNOWN], later(250))
    assert {run: point.games for run, point in found.items()} == {old.id: 200, young.id: 500}


async def test_who_played_is_summed_up_by_user_and_processor(store: Store) -> None:
    ada, adas = (make_machine(name, user="ada", arch="x86-64") for name in "ad")
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
    assert await store.reads.contributions(RUN.id, 10) == (
        Contribution("ada", "x86-64", 2, pairs(ll=1, even=2, ww=1)),
        Contribution("bob", "unknown", 1, pairs(wd=1)),
    )
    assert len(await store.reads.contributions(RUN.id, 1)) == 1


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
