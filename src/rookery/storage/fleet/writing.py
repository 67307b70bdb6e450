"""Writes what was gathered, in one transaction behind the fence, and what follows in others.

What is fixed about a run or a task is written when it is new; after that only what moves. The
writer remembers what it has written for as long as it is the one writer, which is one tenure.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from rookery.core.demands import Demands
from rookery.core.machine import Machine
from rookery.core.plan import Plan
from rookery.core.run import Run
from rookery.core.task import TaskKey
from rookery.service.fleet.ports import Sample
from rookery.storage.fence import Fence, FencedOff
from rookery.storage.fleet.backlog import Slice
from rookery.storage.fleet.codecs import (
    Columns,
    bad_task,
    fixed_task,
    history_of,
    moving_run,
    moving_task,
    whole_run,
)
from rookery.storage.fleet.gathering import Gathered
from rookery.storage.fleet.json import clean
from rookery.storage.fleet.kinds import Parts, taken_apart
from rookery.storage.fleet.logbook import action_columns
from rookery.storage.fleet.packing import packed
from rookery.storage.fleet.records import (
    block_columns,
    provenance_columns,
    purging_columns,
    recalled_columns,
    sample_columns,
)
from rookery.storage.fleet.statements import Piece, Statements, expected, pieces
from rookery.storage.fleet.thinning import period
from rookery.storage.pool import Connection
from rookery.storage.problems import Problem
from rookery.storage.queries import Queries

Rows = tuple[str, list[Columns]]
"""The name of a query, and rows for it."""


class RowsMissing(Problem):
    """Of {expected} rows that were to be changed, {found} were there: somebody else writes them."""


class _Fixed(NamedTuple):
    """What is fixed about a run, as it is stored."""

    plan: Plan
    demands: Demands
    rules: object


class Writer:
    """One per tenure, used by one task."""

    def __init__(self, fence: Fence, queries: Queries) -> None:
        self._fence = fence
        self._queries = queries
        self._statements = Statements(queries)
        self._known: dict[str, _Fixed] = {}
        self._trails: dict[str, int] = {}
        self._machines: dict[TaskKey, Machine] = {}
        self._periods: dict[str, int] = {}

    async def write(self, gathered: Gathered, sequence: int) -> None:
        """All or nothing; what it raises says whether the outcome is known."""
        new_runs, moved_runs = self._runs(gathered, sequence)
        seldom = _filled((*new_runs, *self._seldom(gathered)))
        often = _filled((moved_runs, *self._often(gathered)))
        thinned = self._thinned(gathered.samples.values())
        async with self._fence.write() if seldom else self._fence.transaction() as connection:
            for query, rows in seldom:
                await connection.executemany(self._queries[query], rows)
            for piece in pieces(often):
                await self._state(connection, piece, sequence)
            if thinned:
                await connection.executemany(self._queries["samples_thin"], thinned)

    async def _state(self, connection: Connection, piece: Piece, sequence: int) -> None:
        """All of a piece in one statement, which passes the fence by itself."""
        sql, columns = self._statements.joined(piece)
        epoch = self._fence.epoch
        found = await connection.fetchval(sql, epoch, sequence, *columns)
        if found is None:
            raise FencedOff(epoch=epoch)
        if found != expected(piece):
            raise RowsMissing(expected=expected(piece), found=found)

    def _seldom(self, gathered: Gathered) -> Iterator[Rows]:
        """Rows that few rounds have; each query is a statement of its own."""
        blocks = gathered.blocks.values()
        yield "blocks_put", [block_columns(each) for each in blocks if each.message is not None]
        lifted = [clean(each.short_name) for each in blocks if each.message is None]
        yield "blocks_lift", [(lifted,)] if lifted else []
        purging = gathered.purging
        yield "purges_put", [purging_columns(each) for each in purging.values() if each is not None]
        over = [run for run, each in purging.items() if each is None]
        yield "purges_end", [(over,)] if over else []

    def _often(self, gathered: Gathered) -> Iterator[Rows]:
        """Rows that most rounds have, but for those of runs."""
        new, moved = self._tasks(gathered)
        yield "tasks_put", new
        yield "tasks_move", moved
        yield "bad_tasks_put", [*map(bad_task, gathered.bad.values())]
        yield "actions_add", [*map(action_columns, gathered.events)]
        yield "provenance_add", [*map(provenance_columns, gathered.provenance)]
        yield "samples_put", [*map(sample_columns, gathered.samples.values())]

    def _runs(self, gathered: Gathered, sequence: int) -> tuple[list[Rows], Rows]:
        """Those that are new or were modified with what was added to trails, and the others."""
        new: list[Columns] = []
        moved: list[Columns] = []
        trail: list[Columns] = []
        for run in gathered.runs.values():
            parts, below = taken_apart(run.kind), gathered.closed_below.get(run.id, 0)
            if self._is_fixed(run, parts):
                moved.append(moving_run(run, parts, sequence, below))
            else:
                new.append(whole_run(run, sequence, below))
            known = self._trails.get(run.id, 0)
            if len(parts.trail) > known:
                trail += ((run.id, *entry) for entry in history_of(parts, known))
            self._keep(run, parts)
        return [("runs_put", new), ("run_history_put", trail)], ("runs_move", moved)

    def _is_fixed(self, run: Run, parts: Parts) -> bool:
        known = self._known.get(run.id)
        return (
            known is not None
            and known.plan is run.plan
            and known.demands is run.demands
            and known.rules == parts.rules
        )

    def _keep(self, run: Run, parts: Parts) -> None:
        if run.status.finished:
            self._known.pop(run.id, None)
            self._trails.pop(run.id, None)
            self._periods.pop(run.id, None)
        else:
            self._known[run.id] = _Fixed(run.plan, run.demands, parts.rules)
            if parts.trail:
                self._trails[run.id] = len(parts.trail)

    def _tasks(self, gathered: Gathered) -> tuple[list[Columns], list[Columns]]:
        """Those that are new or are described anew, and the others; what a purge strikes out, it
        has read from the rows."""
        new: list[Columns] = []
        moved: list[Columns] = []
        for key, task in gathered.tasks.items():
            if self._machines.get(key) is task.machine or key in gathered.bad:
                moved.append(moving_task(task))
            else:
                new.append(fixed_task(task) + moving_task(task)[2:])
            if task.active:
                self._machines[key] = task.machine
            else:
                self._machines.pop(key, None)
        return new, moved

    def _thinned(self, samples: Collection[Sample]) -> list[Columns]:
        """Runs whose points have become too many."""
        found: list[Columns] = []
        for sample in samples:
            now = period(sample.games)
            if self._periods.get(sample.run, 0) < now:
                found.append((sample.run, now))
                self._periods[sample.run] = now
        return found

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

    async def _insert(self, connection: Connection, query: str, rows: Sequence[Columns]) -> None:
        """Many rows to a statement, each column as one array."""
        if rows:
            sql = self._queries[query]
            await connection.execute(sql, *packed(sql, zip(*rows, strict=True)))


def _filled(rows: Iterable[Rows]) -> list[Rows]:
    return [each for each in rows if each[1]]
