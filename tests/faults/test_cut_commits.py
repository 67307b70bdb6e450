"""The connection to the database breaks during a group commit: the outcome is told exactly."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rookery.core.model.task import Results
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.farm.commits import CommitQueue, StateLost
from rookery.server.farm.rules.answers import Changes
from rookery.server.farm.store import FleetStore
from tests.database import pool_on
from tests.faults.proxy import Cut, Proxy, proxied
from tests.makers import make_run, pairs
from tests.storage.farm.stores import changed, make_task, opened, played

pytestmark = pytest.mark.anyio

RUN = make_run("a")
TASK = make_task(RUN)
WRITTEN = {Cut.COMMIT_SENT, Cut.COMMIT_REPLIED, Cut.REPLY_SEEN}
TOLD = {Cut.REPLY_SEEN}


@dataclass(frozen=True, slots=True)
class Scene:
    """A store behind a proxy, and the database seen past it."""

    store: FleetStore
    proxy: Proxy
    database: Target

    async def wins(self) -> int:
        async with pool_on(self.database, "onlooker") as pool:
            found: int = await pool.fetchval("SELECT wins FROM tasks")
        return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short enough for the path of a socket."""
    with tempfile.TemporaryDirectory(prefix="cut") as path:
        yield Path(path)


@pytest.fixture
async def scene(database: Target, queries: Queries, folder: Path) -> AsyncIterator[Scene]:
    async with proxied(database, folder) as (proxy, target), opened(target, queries) as store:
        yield Scene(store, proxy, database)


def report(results: Results) -> Changes:
    task = replace(TASK, results=results)
    return changed(played(RUN, task), task)


async def acknowledged(commits: CommitQueue, batch: Changes) -> bool:
    try:
        await commits.wait_committed(commits.put(batch))
    except StateLost:
        return False
    return True


@pytest.mark.parametrize("cut", Cut)
async def test_an_outcome_is_told_only_when_it_is_known(scene: Scene, cut: Cut) -> None:
    commits = await scene.store.take()
    assert await acknowledged(commits, report(pairs(ww=1)))
    scene.proxy.arm(cut)
    assert await acknowledged(commits, report(pairs(ww=2))) == (cut in TOLD)
    await scene.store.take()
    assert await scene.wins() == (4 if cut in WRITTEN else 2)


@pytest.mark.parametrize("cut", Cut)
async def test_a_report_that_is_repeated_counts_once(scene: Scene, cut: Cut) -> None:
    commits = await scene.store.take()
    await acknowledged(commits, report(pairs(ww=1)))
    scene.proxy.arm(cut)
    await acknowledged(commits, report(pairs(ww=2)))
    again = await scene.store.take()
    await scene.store.reads.snapshot()
    assert await acknowledged(again, report(pairs(ww=2)))
    ((run, (task,)),) = (await scene.store.reads.snapshot()).runs
    assert run.tally.results == task.results == pairs(ww=2)


async def test_the_tenure_that_lost_its_state_writes_nothing_more(scene: Scene) -> None:
    commits = await scene.store.take()
    await acknowledged(commits, report(pairs(ww=1)))
    scene.proxy.arm(Cut.IN_ROUND)
    assert not await acknowledged(commits, report(pairs(ww=2)))
    with pytest.raises(StateLost):
        commits.check_capacity()
    assert await scene.wins() == 2


async def test_a_cut_after_the_reply_harms_nobody(scene: Scene) -> None:
    commits = await scene.store.take()
    for number in range(1, 4):
        scene.proxy.arm(Cut.REPLY_SEEN)
        assert await acknowledged(commits, report(pairs(ww=number)))
    assert await scene.wins() == 6
