"""Lists of finished runs."""

from dataclasses import replace

import pytest

from rookery.core.model.run import Run
from rookery.core.stats.sprt import Flag
from rookery.core.stats.spsa import ParameterSample
from rookery.server.farm.read_values import FinishedRunsQuery
from tests.makers import later, make_plan, make_run, make_side, spsa
from tests.storage.farm.stores import Store, changed, finished, kept

pytestmark = pytest.mark.anyio


async def names(store: Store, query: FinishedRunsQuery) -> list[str]:
    """The runs of a page by the first letter of their names."""
    return [bytes.fromhex(run.id)[:1].decode() for run in await store.reads.finished(query)]


@pytest.fixture
def runs() -> tuple[Run, ...]:
    sides = make_side(commit="c0ffee12" + "0" * 32), make_side("master")
    long = make_run("c", make_plan(tc="60+0.6", sides=sides))
    other = make_run("d", make_plan(owner="otto", engine="Tiny"))
    return (
        finished("a", 1, flag=Flag.GREEN),
        finished("b", 5, flag=Flag.YELLOW),
        finished("c", 3, run=long),
        finished("d", 4, run=other),
        finished("e", 9, deleted=True),
        make_run("f"),
    )


async def test_they_come_newest_first_without_deleted_and_running_ones(
    store: Store, runs: tuple[Run, ...]
) -> None:
    await kept(store, changed(*runs))
    assert await names(store, FinishedRunsQuery()) == ["b", "d", "c", "a"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (FinishedRunsQuery(page_size=3), ["b", "d", "c"]),
        (FinishedRunsQuery(page=2, page_size=3), ["a"]),
        (FinishedRunsQuery(page=3, page_size=3), []),
        (FinishedRunsQuery(owner="otto"), ["d"]),
        (FinishedRunsQuery(owner="otto' OR true --"), []),
        (FinishedRunsQuery(owner="\0"), []),
        (FinishedRunsQuery(engine="Tiny"), ["d"]),
        (FinishedRunsQuery(engine="Tiny", hidden=frozenset({"Tiny"})), []),
        (FinishedRunsQuery(green_only=True), ["a"]),
        (FinishedRunsQuery(yellow_only=True), ["b"]),
        (FinishedRunsQuery(green_only=True, yellow_only=True), []),
        (FinishedRunsQuery(ltc_only=True), ["c"]),
        (FinishedRunsQuery(since=later(4)), ["b", "d"]),
        (FinishedRunsQuery(hidden=frozenset({"Tiny", "x"})), ["b", "c", "a"]),
        (FinishedRunsQuery(until=later(4)), ["c", "a"]),
        (FinishedRunsQuery(text="OTTO"), ["d"]),
        (FinishedRunsQuery(text="%"), []),
        (FinishedRunsQuery(text="tiny"), ["d"]),
        (FinishedRunsQuery(text="C0FFEE1"), ["c"]),
        (FinishedRunsQuery(text="c0ffee"), []),
        (FinishedRunsQuery(text="0ffee12"), []),
        (FinishedRunsQuery(deleted=True), ["e"]),
    ],
)
async def test_they_can_be_chosen(
    store: Store, runs: tuple[Run, ...], query: FinishedRunsQuery, expected: list[str]
) -> None:
    await kept(store, changed(*runs))
    assert await names(store, query) == expected


async def test_they_are_counted_up_to_a_number(store: Store, runs: tuple[Run, ...]) -> None:
    await kept(store, changed(*runs))
    assert await store.reads.count_finished(FinishedRunsQuery(page=2, page_size=1), 10) == 4
    assert await store.reads.count_finished(FinishedRunsQuery(), 3) == 3


async def test_a_run_that_is_opened_again_leaves_the_list(store: Store) -> None:
    commits = await store.take()
    await commits.wait_committed(commits.put(changed(finished("a"))))
    assert await names(store, FinishedRunsQuery()) == ["a"]
    await commits.wait_committed(commits.put(changed(make_run("a"))))
    assert await names(store, FinishedRunsQuery()) == []


async def test_the_history_of_a_tune_is_in_the_run_and_not_in_lists(store: Store) -> None:
    tuning = spsa()
    moved = replace(tuning, tune=replace(tuning.tune, history=(_sample(1.0), _sample(2.5))))
    run = finished("a", run=make_run("a", kind=moved))
    await kept(store, changed(run))
    assert await store.reads.run(run.id) == run
    assert await store.reads.finished(FinishedRunsQuery()) == (replace(run, kind=tuning),)


def _sample(theta: float) -> tuple[ParameterSample, ...]:
    return (ParameterSample(theta, 0.1, 0.2),)
