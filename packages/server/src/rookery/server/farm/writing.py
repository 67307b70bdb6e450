"""Collects and writes the rows of a group commit: each row once, with its latest absolute values.

Increments would be wrong here: if a statement contains a row three times, only one of them takes
effect.
"""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import NamedTuple

import asyncpg

from rookery.core.model.events import Event
from rookery.core.model.kinds import StoredParts
from rookery.core.model.machine import Machine
from rookery.core.model.plan import Demands, Plan
from rookery.core.model.run import Run
from rookery.core.model.task import PlayedBatch, Task, TaskKey
from rookery.server.db.fence import Fence, FencedStatements
from rookery.server.db.pool import Connection, Queries, clean
from rookery.server.db.table import clean_columns
from rookery.server.db.target import Problem
from rookery.server.farm.action_log import action_columns
from rookery.server.farm.packing import packed
from rookery.server.farm.rows import (
    Columns,
    all_run_columns,
    all_task_columns,
    bad_task,
    block_columns,
    changing_run_row,
    changing_task_row,
    history_of,
    provenance_columns,
    purging_columns,
    recalled_columns,
    sample_columns,
)
from rookery.server.farm.rules.answers import (
    Changes,
    ChartPoint,
    Closing,
    DoneCommand,
    MachineBlock,
    MachineHistory,
)
from rookery.server.farm.rules.notifications import find_notification
from rookery.server.farm.rules.observations import chart_period, chart_place
from rookery.server.farm.rules.purge import BadTask, Purging
from rookery.server.farm.statements import Statements, expected


@dataclass(slots=True)
class PendingRows:
    """The rows of a round. Mutable: callers of `put` fill it, and the one writer writes it after it
    is closed."""

    changes: int = 0
    """The number of changes that were put, with repeated rows counted each time."""
    runs: dict[str, Run] = field(default_factory=dict)
    closed_below: dict[str, int] = field(default_factory=dict)
    """For each run that ended, even if it was reopened since: the number below which its tasks
    ended with it."""
    tasks: dict[TaskKey, Task] = field(default_factory=dict)
    bad: dict[TaskKey, BadTask] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    samples: dict[tuple[str, int], ChartPoint] = field(default_factory=dict)
    provenance: list[PlayedBatch] = field(default_factory=list)
    blocks: dict[str, MachineBlock] = field(default_factory=dict)
    purging: dict[str, Purging | None] = field(default_factory=dict)
    """Purges that are due or under way, by run; None for one that is over."""
    done: list[DoneCommand] = field(default_factory=list)

    def add(self, changes: Changes) -> None:
        for run in changes.runs:
            self.runs[run.id] = run
            if run.status.finished:
                self.closed_below[run.id] = run.tally.tasks
        for task in changes.tasks:
            self.tasks[task.run, task.id] = task
        self.events += changes.events
        self.provenance += changes.provenance
        for sample in changes.samples:
            self.samples[sample.run, chart_place(sample)] = sample
        self.changes += 1 + len(changes.tasks) + len(changes.events)
        self.done += changes.done
        if changes.bad or changes.blocks or changes.purges or changes.purging or changes.purged:
            self._add_seldom(changes)

    def _add_seldom(self, changes: Changes) -> None:
        for bad in changes.bad:
            self.bad[bad.task.run, bad.task.id] = bad
        for block in changes.blocks:
            self.blocks[block.short_name] = block
        for purging in (*changes.purges, *changes.purging):
            self.purging[purging.run] = purging
        self.purging |= dict.fromkeys(changes.purged)

    def touched(self) -> set[str]:
        """Return the runs that readers may need to read again."""
        of_tasks = {run for run, _ in self.tasks}
        return self.runs.keys() | of_tasks | {event.run for event in self.events if event.run}


# Rows that no answer waits for: they are written in slices, beside the group commits.
#
# A run of 100,000 tasks ends with the commit of its own row, which says which tasks ended with it.
# The tasks' rows are updated here afterwards; after a crash the next primary updates them.
# Histories of machines and last-seen times may be lost without harm.


@dataclass(frozen=True, slots=True)
class Slice:
    """The rows of the backlog that one transaction writes."""

    closed: tuple[TaskKey, ...] = ()
    seen: tuple[tuple[TaskKey, datetime], ...] = ()
    recalled: tuple[MachineHistory, ...] = ()

    def __len__(self) -> int:
        return len(self.closed) + len(self.seen) + len(self.recalled)


@dataclass(slots=True)
class Backlog:
    """The rows that wait to be written in slices. Used only on the event loop."""

    _closing: deque[Iterator[TaskKey]] = field(default_factory=deque)
    _open: int = 0
    _seen: dict[TaskKey, datetime] = field(default_factory=dict)
    _recalled: dict[str, MachineHistory] = field(default_factory=dict)

    def __len__(self) -> int:
        return self._open + len(self._seen) + len(self._recalled)

    @property
    def closes(self) -> bool:
        """Whether there are tasks that have ended but are still active in their rows."""
        return bool(self._open)

    def add(self, changes: Changes) -> None:
        for closing in changes.closings:
            self._closing.append(_keys(closing))
            self._open += len(closing.tasks)
        self._seen.update(((each.run, each.task), each.at) for each in changes.seen)
        self._recalled.update((each.short_name, each) for each in changes.recalled)

    def take(self, most: int) -> Slice:
        """Return the next slice; closings go first."""
        closed = self._take_closed(most)
        most -= len(closed)
        seen = tuple(self._seen.popitem() for _ in range(min(most, len(self._seen))))
        most -= len(seen)
        names = range(min(most, len(self._recalled)))
        return Slice(closed, seen, tuple(self._recalled.popitem()[1] for _ in names))

    def _take_closed(self, most: int) -> tuple[TaskKey, ...]:
        if not self._closing:
            return ()
        closed = tuple(islice(self._closing[0], most))
        if len(closed) < most:
            self._closing.popleft()
        self._open -= len(closed)
        return closed


def _keys(closing: Closing) -> Iterator[TaskKey]:
    # One by one, because building a list of 100,000 keys, or freeing it at once, would hold up the
    # loop.
    rest = list(reversed(closing.tasks))
    run = closing.run
    return ((run, rest.pop().id) for _ in range(len(rest)))


# The writer writes a round in one statement behind the fence, and slices of the backlog in separate
# transactions.
#
# The fixed columns of a run or a task are written when it is new, later only the changing ones. The
# writer remembers what it has written for its term, in which it is the only writer.

Rows = tuple[str, list[Columns]]
"""The name of a query and the rows for it."""


class _Fixed(NamedTuple):
    """The fixed parts of a run as they were last stored."""

    plan: Plan
    demands: Demands
    rules: object


class Writer:
    """Writes the rows of a term; used by the tasks of the group commit only."""

    def __init__(self, fence: Fence, queries: Queries) -> None:
        self._fence = fence
        self._queries = queries
        self._rounds = FencedStatements(fence)
        self._statements = Statements(queries)
        self._known: dict[str, _Fixed] = {}
        self._trails: dict[str, int] = {}
        self._machines: dict[TaskKey, Machine] = {}
        self._periods: dict[str, int] = {}

    async def write(self, gathered: PendingRows, sequence: int) -> None:
        """Write a round, all of it or nothing; the error tells whether the outcome is known."""
        rows = {part: some for part, some in self._list_rows(gathered, sequence) if some}
        sql, columns = self._statements.joined(rows)
        try:
            await self._rounds.write(sql, sequence, expected(rows), *columns)
        except asyncpg.DivisionByZeroError:
            raise Problem(
                "Not all of {expected} rows that were to be changed are there: somebody else "
                "writes them.",
                expected=expected(rows),
            ) from None

    async def close(self) -> None:
        """Give back the connection of the rounds."""
        await self._rounds.close()

    def _list_rows(self, gathered: PendingRows, sequence: int) -> Iterator[Rows]:
        yield from self._runs(gathered, sequence)
        new, moved = self._tasks(gathered)
        yield "tasks_put", new
        yield "tasks_move", moved
        yield "bad_tasks_put", [*map(bad_task, gathered.bad.values())]
        yield "actions_add", [*map(action_columns, gathered.events)]
        yield "provenance_add", [*map(provenance_columns, gathered.provenance)]
        if gathered.samples:
            yield from self._samples(gathered.samples.values())
        if gathered.events or gathered.blocks or gathered.purging or gathered.done:
            yield from _list_rare_rows(gathered)

    def _runs(self, gathered: PendingRows, sequence: int) -> Iterator[Rows]:
        """Yield new and modified runs with new entries of their trails, and the other changed
        runs."""
        new: list[Columns] = []
        moved: list[Columns] = []
        trail: list[Columns] = []
        for run in gathered.runs.values():
            parts, below = run.kind.parts, gathered.closed_below.get(run.id, 0)
            if self._is_fixed(run, parts):
                moved.append(changing_run_row(run, sequence, below))
            else:
                new.append(all_run_columns(run, sequence, below))
            known = self._trails.get(run.id, 0)
            if len(parts.trail) > known:
                trail += ((run.id, *entry) for entry in history_of(run.kind, known))
            self._keep(run, parts)
        yield "runs_put", new
        yield "run_history_put", trail
        yield "runs_move", moved

    def _is_fixed(self, run: Run, parts: StoredParts) -> bool:
        known = self._known.get(run.id)
        return (
            known is not None
            and known.plan is run.plan
            and known.demands is run.demands
            and known.rules == parts.rules
        )

    def _keep(self, run: Run, parts: StoredParts) -> None:
        if run.status.finished:
            self._known.pop(run.id, None)
            self._trails.pop(run.id, None)
            self._periods.pop(run.id, None)
        else:
            self._known[run.id] = _Fixed(run.plan, run.demands, parts.rules)
            if parts.trail:
                self._trails[run.id] = len(parts.trail)

    def _tasks(self, gathered: PendingRows) -> tuple[list[Columns], list[Columns]]:
        """Tasks to insert (new, or with a new description of their machine), and tasks to update. A
        purged task was read from its row, so it is always updated."""
        new: list[Columns] = []
        moved: list[Columns] = []
        for key, task in gathered.tasks.items():
            purged = key in gathered.bad and not task.too_fast
            machine = self._machines.get(key)
            if purged or machine is task.machine or machine == task.machine:
                moved.append(changing_task_row(task))
            else:
                new.append(all_task_columns(task))
            if task.active:
                self._machines[key] = task.machine
            else:
                self._machines.pop(key, None)
        return new, moved

    def _samples(self, samples: Collection[ChartPoint]) -> Iterator[Rows]:
        """Chart points, and runs with so many that others must be removed. Of points in the same
        round, those that would be removed are not written."""
        thinned: dict[str, int] = {}
        for sample in samples:
            now = chart_period(sample.games)
            if self._periods.get(sample.run, 0) < now:
                self._periods[sample.run] = thinned[sample.run] = now
        fit = (each for each in samples if not chart_place(each) % thinned.get(each.run, 1))
        yield "samples_put", [*map(sample_columns, fit)]
        yield "samples_thin", [*thinned.items()]

    async def follow(self, following: Slice) -> None:
        """Write a slice in a separate transaction, without waiting for the disk."""
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
        """Run a query with many rows, each column packed as one parameter."""
        if rows:
            sql = self._queries[query]
            await connection.execute(sql, *packed(sql, rows))


def _list_rare_rows(gathered: PendingRows) -> Iterator[Rows]:
    """Rows that few rounds have."""
    blocks = gathered.blocks.values()
    yield "blocks_put", [block_columns(each) for each in blocks if each.message is not None]
    yield "blocks_lift", [(clean(each.short_name),) for each in blocks if each.message is None]
    purging = gathered.purging
    yield "purges_put", [purging_columns(each) for each in purging.values() if each is not None]
    yield "purges_end", [(run,) for run, each in purging.items() if each is None]
    yield "notifications_add", [*_list_notifications(gathered)]
    done: list[Columns] = [(clean(each.key), each.run, each.body) for each in gathered.done]
    yield "done_commands_add", done
    yield "done_commands_drop", [()] if done else []


def _list_notifications(gathered: PendingRows) -> Iterator[Columns]:
    """Yield the notifications to people that follow from these events."""
    for event in gathered.events:
        if found := find_notification(event, gathered.runs.get(event.run)):
            yield clean_columns(found)
