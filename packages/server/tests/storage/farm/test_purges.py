"""A purge is carried on after whatever interrupted it, in PostgreSQL and in its twin."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from rookery.core.model.events import Action
from rookery.core.model.kinds import Report
from rookery.core.model.run import Run
from rookery.core.model.task import recounted
from rookery.server.farm import purges
from rookery.server.farm.commits import CommitQueue, CommitStats, StateLost
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.answers import Changes, Grant
from rookery.server.farm.rules.eligibility import Policy
from rookery.server.farm.rules.purge import Purging
from rookery.server.farm.terms import Store
from tests.eventually import eventually
from tests.fakes import HandClock, RecordedLog
from tests.makers import BOSS, NOW, OWNER, call_of, make_machine, make_plan, make_run, pairs

pytestmark = pytest.mark.anyio

WORKERS, GAMES = 9, 2
LONG = "600+6"
RUN = make_run(plan=make_plan(games=GAMES * WORKERS, tc=LONG, auto_purge=True), approved=False)


class Dying:
    """A store whose commits go well so many times, and then never again."""

    def __init__(self, store: Store, commits: int) -> None:
        self._store = store
        self.left = commits

    @property
    def reads(self) -> FleetReads:
        return self._store.reads

    async def take(self) -> CommitQueue:
        if self.left < 0:
            raise ConnectionError
        return _Dying(self, await self._store.take())

    def abandon(self, reason: str) -> None:
        """Nobody waits."""

    async def publish(self, part: str, body: bytes | None) -> None:
        """Nobody looks."""

    async def close(self) -> None:
        """The process is dead: it writes nothing more."""

    def stats(self) -> CommitStats:
        return CommitStats()


class _Dying:
    def __init__(self, owner: Dying, commits: CommitQueue) -> None:
        self._owner = owner
        self._commits = commits

    def check_capacity(self) -> None:
        self._commits.check_capacity()

    def put(self, batch: Changes) -> int:
        self._owner.left -= bool(batch.purging or batch.purged)
        if self._owner.left < 0:
            raise StateLost
        return self._commits.put(batch)

    def committed(self, sequence: int) -> "asyncio.Future[bool] | None":
        return self._commits.committed(sequence)

    async def wait_committed(self, sequence: int) -> None:
        await self._commits.wait_committed(sequence)


@asynccontextmanager
async def fleet_on(store: Store) -> AsyncIterator[Fleet]:
    clock = HandClock()
    clock.move(seconds=(NOW - clock.now()).total_seconds())
    fleet = Fleet(store, clock, RecordedLog(), policy=Policy(simulated=True))
    await fleet.primary.open()
    try:
        yield fleet
    finally:
        await fleet.primary.close()


async def played(fleet: Fleet, run: Run = RUN) -> None:
    """A run with crashes on every machine but one."""
    await fleet.commands.submit(run, approver=BOSS.name)
    for number in range(WORKERS):
        answer = await fleet.request_task(make_machine(f"w{number}", cores=1), limit=100)
        assert isinstance(answer, Grant)
        results = pairs(even=answer.task.games // 2, crashes=9 if number else 0)
        await fleet.update_task(call_of(answer.task), Report(results))


@pytest.fixture(autouse=True)
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purges, "PORTION", 2)


@pytest.mark.parametrize("commits", range(5))
async def test_a_purge_that_died_at_any_point_is_carried_on(store: Store, commits: int) -> None:
    async with fleet_on(Dying(store, commits)) as fleet:
        await played(fleet)
        await eventually(lambda: not fleet.primary.is_serving)
    async with fleet_on(store) as fleet:
        await eventually(lambda: RUN.id in fleet.primary.term().working.runs())
        run = await fleet.views.known_run(RUN.id)
    tasks = await store.reads.tasks(RUN.id)
    assert run.tally == recounted(tasks)
    assert run.tally.results == pairs(even=GAMES // 2)
    assert [task.bad for task in tasks] == [False, *[True] * (WORKERS - 1)]
    assert len(await store.reads.bad_tasks(RUN.id)) == WORKERS - 1
    events = await store.reads.events(50)
    (told,) = [each.message for each in events if each.action == Action.PURGE_RUN]
    assert f"{WORKERS - 1} tasks with {GAMES * (WORKERS - 1)} games" in (told or "")


@pytest.mark.parametrize("commits", range(1, 6))
async def test_a_purge_that_nobody_waited_for_is_carried_on(
    store: Store, commits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purges, "AT_ONCE", 0)
    plan = make_plan(games=2 * GAMES * WORKERS, tc=LONG)
    async with fleet_on(Dying(store, commits)) as fleet:
        await played(fleet, replace(RUN, plan=plan))
        await fleet.commands.stop(RUN.id, OWNER)
        assert (await fleet.purges.purge(RUN.id, OWNER)).under_way
        await eventually(lambda: not fleet.primary.is_serving)
    async with fleet_on(store) as fleet:
        await eventually(lambda: RUN.id in fleet.primary.term().working.runs())
        run = await fleet.views.known_run(RUN.id)
    tasks = await store.reads.tasks(RUN.id)
    assert run.tally == recounted(tasks)
    assert sum(task.bad for task in tasks) == WORKERS - 1
    events = await store.reads.events(50)
    (told,) = [each for each in events if each.action == Action.PURGE_RUN]
    assert told.actor == OWNER.name


async def test_a_run_that_stays_decided_is_told_to_be_over_once(store: Store) -> None:
    async with fleet_on(store) as fleet:
        await fleet.commands.submit(RUN, approver=BOSS.name)
        await fleet.request_task(make_machine(), limit=1)
        stopped = await fleet.commands.stop(RUN.id, OWNER)
        # The fleet carries it on by itself too, so that the row may be gone by now.
        await fleet.purges.carry_on(Purging(RUN.id, revive=stopped.decided))
        assert (await store.reads.snapshot()).purging == ()
