"""Writes what was gathered, in one transaction behind the fence, and what follows in others.

What is fixed about a run or a task is written when it is new; after that only what moves. The
writer remembers what it has written for as long as it is the one writer, which is one tenure.
"""

from collections.abc import Collection, Iterable, Sequence

from rookery.core.machine import Machine
from rookery.core.run import Run
from rookery.core.task import Task, TaskKey
from rookery.service.fleet.ports import Sample
from rookery.storage.fence import Fence
from rookery.storage.fleet.backlog import Slice
from rookery.storage.fleet.codecs import (
    Columns,
    bad_task,
    fixed_run,
    fixed_task,
    history_of,
    moving_run,
    moving_task,
)
from rookery.storage.fleet.gathering import Gathered
from rookery.storage.fleet.json import clean
from rookery.storage.fleet.kinds import taken_apart
from rookery.storage.fleet.logbook import action_columns
from rookery.storage.fleet.packing import packed
from rookery.storage.fleet.records import (
    block_columns,
    provenance_columns,
    purging_columns,
    recalled_columns,
    sample_columns,
)
from rookery.storage.fleet.thinning import period
from rookery.storage.pool import Connection
from rookery.storage.problems import Problem
from rookery.storage.queries import Queries

MOST_ROWS = 250
"""Rows of one statement, so that packing them does not hold up the loop."""


class RowsMissing(Problem):
    """Of {expected} rows that were to be changed, {found} were there: somebody else writes them."""


class Writer:
    """One per tenure, used by one task."""

    def __init__(self, fence: Fence, queries: Queries) -> None:
        self._fence = fence
        self._queries = queries
        self._runs: dict[str, Run] = {}
        self._trails: dict[str, int] = {}
        self._machines: dict[TaskKey, Machine] = {}
        self._periods: dict[str, int] = {}

    async def write(self, gathered: Gathered, sequence: int) -> None:
        """All or nothing; what it raises says whether the outcome is known."""
        async with self._fence.write() as connection:
            await self._write_runs(connection, gathered, sequence)
            await self._write_tasks(connection, gathered.tasks.values())
            await self._write_rest(connection, gathered)
            await self._write_samples(connection, gathered.samples.values())
            await connection.execute(self._queries["commits_count"], sequence)

    async def _write_runs(self, connection: Connection, gathered: Gathered, sequence: int) -> None:
        new: list[Columns] = []
        moved: list[Columns] = []
        for run in gathered.runs.values():
            moving = moving_run(run, sequence, gathered.closed_below.get(run.id, 0))
            if self._is_fixed(run):
                moved.append(moving)
            else:
                new.append(fixed_run(run) + moving[1:])
            self._keep(run)
        await self._each(connection, "runs_put", new)
        await self._change(connection, "runs_move", moved)
        for run in gathered.runs.values():
            await self._append_trail(connection, run)

    def _is_fixed(self, run: Run) -> bool:
        old = self._runs.get(run.id)
        return (
            old is not None
            and old.plan is run.plan
            and old.demands is run.demands
            and taken_apart(old.kind).rules == taken_apart(run.kind).rules
        )

    def _keep(self, run: Run) -> None:
        if run.status.finished:
            self._runs.pop(run.id, None)
            self._trails.pop(run.id, None)
            self._periods.pop(run.id, None)
        else:
            self._runs[run.id] = run

    async def _append_trail(self, connection: Connection, run: Run) -> None:
        length = len(taken_apart(run.kind).trail)
        known = self._trails.get(run.id, 0)
        if length > known:
            entries = enumerate(history_of(run)[known:], known)
            rows = [(run.id, number, entry) for number, entry in entries]
            await self._each(connection, "run_history_put", rows)
        if length and run.id in self._runs:
            self._trails[run.id] = length

    async def _write_tasks(self, connection: Connection, tasks: Iterable[Task]) -> None:
        new: list[Columns] = []
        moved: list[Columns] = []
        for task in tasks:
            key = (task.run, task.id)
            if self._machines.get(key) is task.machine:
                moved.append(moving_task(task))
            else:
                new.append(fixed_task(task) + moving_task(task)[2:])
            if task.active:
                self._machines[key] = task.machine
            else:
                self._machines.pop(key, None)
        await self._insert(connection, "tasks_put", new)
        await self._change(connection, "tasks_move", moved)

    async def _write_rest(self, connection: Connection, gathered: Gathered) -> None:
        await self._insert(connection, "bad_tasks_put", [*map(bad_task, gathered.bad.values())])
        await self._insert(connection, "actions_add", [*map(action_columns, gathered.events)])
        played = [*map(provenance_columns, gathered.provenance)]
        await self._insert(connection, "provenance_add", played)
        blocks = gathered.blocks.values()
        put = [block_columns(block) for block in blocks if block.message is not None]
        await self._each(connection, "blocks_put", put)
        await self._write_purges(connection, gathered)
        if lifted := [clean(block.short_name) for block in blocks if block.message is None]:
            await connection.execute(self._queries["blocks_lift"], lifted)

    async def _write_purges(self, connection: Connection, gathered: Gathered) -> None:
        purging = gathered.purging
        under_way = [purging_columns(each) for each in purging.values() if each is not None]
        await self._each(connection, "purges_put", under_way)
        if over := [run for run, each in purging.items() if each is None]:
            await connection.execute(self._queries["purges_end"], over)

    async def _write_samples(self, connection: Connection, samples: Collection[Sample]) -> None:
        await self._insert(connection, "samples_put", [*map(sample_columns, samples)])
        for sample in samples:
            now = period(sample.games)
            if self._periods.get(sample.run, 0) < now:
                await connection.execute(self._queries["samples_thin"], sample.run, now)
                self._periods[sample.run] = now

    async def follow(self, following: Slice) -> None:
        """In a transaction of its own, which is not waited for to reach the disk."""
        for key in following.closed:
            self._machines.pop(key, None)
        seen = [(*key, at) for key, at in following.seen]
        recalled = [*map(recalled_columns, following.recalled)]
        async with self._fence.write() as connection:
            await connection.execute(self._queries["commits_lightly"])
            await self._insert(connection, "tasks_close", following.closed)
            await self._insert(connection, "tasks_seen", seen)
            await self._insert(connection, "recalled_put", recalled)

    async def _each(self, connection: Connection, query: str, rows: Sequence[Columns]) -> None:
        """For rows that are rarely written: a statement each."""
        if rows:
            await connection.executemany(self._queries[query], rows)

    async def _insert(self, connection: Connection, query: str, rows: Sequence[Columns]) -> int:
        """Many rows to a statement, each column as one array; returns how many it touched."""
        touched = 0
        for start in range(0, len(rows), MOST_ROWS):
            sql = self._queries[query]
            columns = packed(sql, zip(*rows[start : start + MOST_ROWS], strict=True))
            said = await connection.execute(sql, *columns)
            touched += int(said.rpartition(" ")[2])
        return touched

    async def _change(self, connection: Connection, query: str, rows: Sequence[Columns]) -> None:
        """Rows that must be there, since this writer wrote them."""
        found = await self._insert(connection, query, rows)
        if found != len(rows):
            raise RowsMissing(expected=len(rows), found=found)
