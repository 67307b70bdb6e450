"""Stores to write to, and what there is to write."""

import random
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Protocol

from rookery.core.model.run import Run
from rookery.core.model.task import Task, recounted
from rookery.server.db.lease import Lease
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.farm.commits import STANDARD_LIMITS, CommitLimits, CommitQueue
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.answers import Changes, ChartPoint
from rookery.server.farm.store import FleetStore
from rookery.server.farm.writing import PendingRows
from tests.database import pool_on
from tests.makers import NOW, later, make_machine, make_run
from tests.unit.farm.rehearsal import OFTEN, Rehearsal

UNKNOWN = "f" * 24


class Store(Protocol):
    """What both twins are."""

    @property
    def reads(self) -> FleetReads: ...

    def take(self) -> Awaitable[CommitQueue]: ...

    async def close(self) -> None: ...


@asynccontextmanager
async def opened(
    target: Target, queries: Queries, limits: CommitLimits = STANDARD_LIMITS
) -> AsyncIterator[FleetStore]:
    async with pool_on(target) as pool:
        lease = Lease(pool, queries, instance="test", address="")
        store = FleetStore(pool, queries, lease, limits=limits)
        yield store
        await store.close()


async def kept(store: Store, *batches: Changes) -> None:
    """All of it in one term, committed."""
    commits = await store.take()
    for batch in batches:
        sequence = commits.put(batch)
    await commits.wait_committed(sequence)


def changed(*rows: Run | Task) -> Changes:
    """Rows as they are now."""
    return Changes(
        runs=tuple(row for row in rows if isinstance(row, Run)),
        tasks=tuple(row for row in rows if isinstance(row, Task)),
    )


def pending(*rows: Run | Task) -> PendingRows:
    """A round with these rows."""
    gathered = PendingRows()
    gathered.add(changed(*rows))
    return gathered


def make_task(run: Run, number: int = 0, games: int = 100, **fields: object) -> Task:
    task = Task(run.id, number, number * games, games, make_machine(f"w{number}"), NOW, NOW)
    return replace(task, **fields)  # type: ignore[arg-type]  # tests name the fields they need


def played(run: Run, *tasks: Task) -> Run:
    """The run with the sums of these tasks."""
    return replace(run, tally=recounted(tasks))


def finished(name: str, seconds: float = 0, run: Run | None = None, **status: object) -> Run:
    """A run that ended so many seconds after noon."""
    run = run or make_run(name)
    over = replace(run.status, finished=True, **status)  # type: ignore[arg-type]  # as above
    return replace(run, id=make_run(name).id, status=over, updated=later(seconds))


def make_sample(run: Run, games: int) -> ChartPoint:
    return ChartPoint(run.id, later(games), games, (0, 0, games // 2, 0, 0), games / 1000, 4)


class WrittenRehearsal(Rehearsal):
    """Everything that may happen to a fleet, with a store that is told all of it."""

    def __init__(self, seed: int, commits: CommitQueue) -> None:
        self.commits = commits
        self.last = 0
        super().__init__(random.Random(seed))
        self._deeds = [getattr(self, name) for name, often in OFTEN.items() for _ in range(often)]

    def step(self) -> None:
        self.chance.choice(self._deeds)()

    def _store(self, changes: Changes) -> None:
        if changes:
            self.last = self.commits.put(changes)
        super()._store(changes)
