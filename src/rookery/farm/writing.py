"""What one group commit writes: many batches, each row once with its last absolute value.

An increment would be wrong here: of one row that comes three times into a statement, one survives.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from rookery.db.fence import Fence, FencedOff
from rookery.db.pool import Connection, Queries, clean
from rookery.db.table import clean_columns
from rookery.db.target import Problem
from rookery.farm.action_log import action_columns
from rookery.farm.columns import Parts, split_kind
from rookery.farm.rows import (
    Columns,
    bad_task,
    block_columns,
    fixed_task,
    history_of,
    moving_run,
    moving_task,
    provenance_columns,
    purging_columns,
    recalled_columns,
    sample_columns,
    whole_run,
)
from rookery.farm.statements import Piece, Statements, expected, packed, pieces
from rookery.model.events import Event
from rookery.model.machine import Machine
from rookery.model.plan import Demands, Plan
from rookery.model.run import Run
from rookery.model.task import PlayedBatch, Task, TaskKey
from rookery.rules.answers import (
    Changes,
    ChartPoint,
    Closing,
    DoneCommand,
    MachineBlock,
    MachineHistory,
)
from rookery.rules.notifications import find_notification
from rookery.rules.observations import chart_period, chart_place
from rookery.rules.purge import BadTask, Purging


@dataclass(slots=True)
class PendingRows:
    """Mutable: it is filled by whoever puts, and written by the one writer once it is closed."""

    changes: int = 0
    """How much was put; rows that come more than once count each time."""
    runs: dict[str, Run] = field(default_factory=dict)
    closed_below: dict[str, int] = field(default_factory=dict)
    """Per run that ended, also if it was opened again since: which of its tasks ended with it."""
    tasks: dict[TaskKey, Task] = field(default_factory=dict)
    bad: dict[TaskKey, BadTask] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    samples: dict[tuple[str, int], ChartPoint] = field(default_factory=dict)
    provenance: list[PlayedBatch] = field(default_factory=list)
    blocks: dict[str, MachineBlock] = field(default_factory=dict)
    purging: dict[str, Purging | None] = field(default_factory=dict)
    """Purges that are due or under way, by run; None where one is over."""
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
        """The runs that somebody may want to look at again."""
        of_tasks = {run for run, _ in self.tasks}
        return self.runs.keys() | of_tasks | {event.run for event in self.events if event.run}


# Rows that nobody's answer waits for: they follow in slices, beside the group commits.
#
# A run that has 100,000 tasks ends by its own row. That row says which of its tasks ended with it,
# so theirs only catch up here; after a crash the next primary brings them up to date. What
# machines have played and when tasks were last heard of may be lost without harm.


@dataclass(frozen=True, slots=True)
class Slice:
    """As much as goes in one transaction."""

    closed: tuple[TaskKey, ...] = ()
    seen: tuple[tuple[TaskKey, datetime], ...] = ()
    recalled: tuple[MachineHistory, ...] = ()

    def __len__(self) -> int:
        return len(self.closed) + len(self.seen) + len(self.recalled)


@dataclass(slots=True)
class Backlog:
    """Mutable, and used by the event loop alone."""

    _closing: deque[Iterator[TaskKey]] = field(default_factory=deque)
    _open: int = 0
    _seen: dict[TaskKey, datetime] = field(default_factory=dict)
    _recalled: dict[str, MachineHistory] = field(default_factory=dict)

    def __len__(self) -> int:
        return self._open + len(self._seen) + len(self._recalled)

    @property
    def closes(self) -> bool:
        """Whether rows say that tasks are active which are not."""
        return bool(self._open)

    def add(self, changes: Changes) -> None:
        for closing in changes.closings:
            self._closing.append(_keys(closing))
            self._open += len(closing.tasks)
        self._seen.update(((each.run, each.task), each.at) for each in changes.seen)
        self._recalled.update((each.short_name, each) for each in changes.recalled)

    def take(self, most: int) -> Slice:
        """The next slice; closings go first."""
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
    # One by one, since listing 100,000 of them would hold up the loop; and so would letting go of
    # them all at the end.
    rest = list(reversed(closing.tasks))
    run = closing.run
    return ((run, rest.pop().id) for _ in range(len(rest)))


# Writes what was gathered, in one transaction behind the fence, and what follows in others.
#
# What is fixed about a run or a task is written when it is new; after that only what moves. The
# writer remembers what it has written for as long as it is the one writer, which is one term.

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
    """One per term, used by one task."""

    def __init__(self, fence: Fence, queries: Queries) -> None:
        self._fence = fence
        self._queries = queries
        self._statements = Statements(queries)
        self._known: dict[str, _Fixed] = {}
        self._trails: dict[str, int] = {}
        self._machines: dict[TaskKey, Machine] = {}
        self._periods: dict[str, int] = {}

    async def write(self, gathered: PendingRows, sequence: int) -> None:
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

    def _seldom(self, gathered: PendingRows) -> Iterator[Rows]:
        """Rows that few rounds have; each query is a statement of its own."""
        blocks = gathered.blocks.values()
        yield "blocks_put", [block_columns(each) for each in blocks if each.message is not None]
        lifted = [clean(each.short_name) for each in blocks if each.message is None]
        yield "blocks_lift", [(lifted,)] if lifted else []
        purging = gathered.purging
        yield "purges_put", [purging_columns(each) for each in purging.values() if each is not None]
        over = [run for run, each in purging.items() if each is None]
        yield "purges_end", [(over,)] if over else []
        yield "outbox_put", [*_list_notifications(gathered)]
        yield (
            "done_commands_add",
            [(clean(each.key), each.run, each.body) for each in gathered.done],
        )

    def _often(self, gathered: PendingRows) -> Iterator[Rows]:
        """Rows that most rounds have, but for those of runs."""
        new, moved = self._tasks(gathered)
        yield "tasks_put", new
        yield "tasks_move", moved
        yield "bad_tasks_put", [*map(bad_task, gathered.bad.values())]
        yield "actions_add", [*map(action_columns, gathered.events)]
        yield "provenance_add", [*map(provenance_columns, gathered.provenance)]
        yield "samples_put", [*map(sample_columns, gathered.samples.values())]

    def _runs(self, gathered: PendingRows, sequence: int) -> tuple[list[Rows], Rows]:
        """Those that are new or were modified with what was added to trails, and the others."""
        new: list[Columns] = []
        moved: list[Columns] = []
        trail: list[Columns] = []
        for run in gathered.runs.values():
            parts, below = split_kind(run.kind), gathered.closed_below.get(run.id, 0)
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

    def _tasks(self, gathered: PendingRows) -> tuple[list[Columns], list[Columns]]:
        """Those that are new or are described anew, and the others; what a purge strikes out, it
        has read from the rows."""
        new: list[Columns] = []
        moved: list[Columns] = []
        for key, task in gathered.tasks.items():
            purged = key in gathered.bad and not task.too_fast
            if purged or self._machines.get(key) is task.machine:
                moved.append(moving_task(task))
            else:
                new.append(fixed_task(task) + moving_task(task)[2:])
            if task.active:
                self._machines[key] = task.machine
            else:
                self._machines.pop(key, None)
        return new, moved

    def _thinned(self, samples: Collection[ChartPoint]) -> list[Columns]:
        """Runs whose points have become too many."""
        found: list[Columns] = []
        for sample in samples:
            now = chart_period(sample.games)
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


def _list_notifications(gathered: PendingRows) -> Iterator[Columns]:
    """What people are to be told of these events."""
    for event in gathered.events:
        if found := find_notification(event, gathered.runs.get(event.run)):
            yield clean_columns(found)


def _filled(rows: Iterable[Rows]) -> list[Rows]:
    return [each for each in rows if each[1]]
