"""In-memory twins of the fleet's store: the same behaviour without a database.

A commit takes one turn of the loop. A test may hold commits back, let them go on, or lose them as
a database would that broke during one.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from msgspec import UNSET

from rookery.core.events import Event
from rookery.core.purge import BadTask, Purging
from rookery.core.results import total
from rookery.core.run import Run
from rookery.core.stats.flags import Flag
from rookery.core.tally import recounted
from rookery.core.task import Task, TaskKey
from rookery.core.timecontrol import base_seconds
from rookery.protocol.user.action_filter import Expression, matches
from rookery.protocol.user.actions import MOST_ACTIONS, ActionDocument
from rookery.protocol.user.finished import LTC_SECONDS
from rookery.service.fleet.ports import (
    Batch,
    ChangedRuns,
    CommitStats,
    Contribution,
    Correction,
    FinishedQuery,
    Hears,
    Provenance,
    QueueFull,
    Recalled,
    Sample,
    Snapshot,
    StateLost,
)
from rookery.storage.fleet.kinds import without_trail
from rookery.storage.fleet.logbook import documented
from rookery.storage.fleet.recovery import corrected
from rookery.storage.fleet.thinning import period, place

MOST_CHANGES = 20_000


@dataclass(slots=True)
class MemoryRows:
    """What has been committed."""

    runs: dict[str, Run] = field(default_factory=dict)
    tasks: dict[TaskKey, Task] = field(default_factory=dict)
    bad: dict[TaskKey, BadTask] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    samples: dict[str, dict[int, Sample]] = field(default_factory=dict)
    provenance: list[Provenance] = field(default_factory=list)
    blocks: dict[str, str] = field(default_factory=dict)
    recalled: dict[str, Recalled] = field(default_factory=dict)
    seen: dict[TaskKey, datetime] = field(default_factory=dict)
    purging: dict[str, Purging] = field(default_factory=dict)
    holdings: dict[str, str] = field(default_factory=dict)
    """By file, the engine it was given for."""
    sequence: int = 0
    sequences: dict[str, int] = field(default_factory=dict)
    """By run, the last commit that changed it."""

    def write(self, batch: Batch) -> set[str]:
        """Gives the runs that were changed."""
        changes = batch.changes
        self.runs |= {run.id: run for run in changes.runs}
        self.tasks |= {(task.run, task.id): task for task in changes.tasks}
        for closing in changes.closings:
            self._close((closing.run, task.id) for task in closing.tasks)
        self.events += changes.events
        self.provenance += batch.provenance
        self.bad |= {(each.task.run, each.task.id): each for each in batch.bad}
        self.recalled |= {each.short_name: each for each in batch.recalled}
        self.seen |= {(each.run, each.task): each.at for each in batch.seen}
        for block in batch.blocks:
            self.blocks.pop(block.short_name, None)
            if block.message is not None:
                self.blocks[block.short_name] = block.message
        self.purging |= {each.run: each for each in (*changes.purges, *batch.purging)}
        for run_id in batch.purged:
            self.purging.pop(run_id, None)
        for sample in batch.samples:
            self._thin(sample)
        self.sequence += 1
        self.sequences |= {run.id: self.sequence for run in changes.runs}
        return {run.id for run in changes.runs} | {task.run for task in changes.tasks}

    def _close(self, keys: Iterable[TaskKey]) -> None:
        for key in keys:
            self.tasks[key] = self.tasks[key].closed()

    def _thin(self, sample: Sample) -> None:
        places = self.samples.setdefault(sample.run, {})
        places[place(sample)] = sample
        for each in [each for each in places if each % period(sample.games)]:
            del places[each]

    def of_run(self, run_id: str) -> list[Task]:
        return sorted(
            (task for task in self.tasks.values() if task.run == run_id), key=lambda task: task.id
        )


class MemoryCommits:
    """The group commit; see the module's text for what a test may do with it."""

    def __init__(
        self,
        rows: MemoryRows,
        *,
        most_changes: int = MOST_CHANGES,
        lost: Callable[[str], object] = lambda _reason: None,
        hears: Collection[Hears] = (),
    ) -> None:
        self._rows = rows
        self._hears = hears
        self._most_changes = most_changes
        self._lost = lost
        self._queue: list[Batch] = []
        self._issued = self._committed = rows.sequence
        self._broken = False
        self._going = asyncio.Event()
        self._going.set()

    def check_room(self) -> None:
        if self._broken:
            raise StateLost
        if len(self._queue) >= self._most_changes:
            raise QueueFull

    def put(self, batch: Batch) -> int:
        self.check_room()
        self._queue.append(batch)
        self._issued += 1
        return self._issued

    async def committed(self, sequence: int) -> None:
        assert sequence <= self._issued
        while sequence > self._committed:
            if self._broken:
                raise StateLost
            await asyncio.sleep(0)
            await self._going.wait()
            self._flush()

    def hold(self) -> None:
        """From now on nothing is committed."""
        self._going.clear()

    def release(self) -> None:
        self._flush()
        self._going.set()

    def lose(self, reason: str = "lost on purpose") -> None:
        """The commit under way fails: all that waits is lost."""
        self._queue.clear()
        self._broken = True
        self._going.set()
        self._lost(reason)

    def _flush(self) -> None:
        for batch in self._queue:
            changed = self._rows.write(batch)
            for hearer in self._hears:
                hearer.add(self._rows.sequence, changed)
        self._queue.clear()
        if not self._broken:
            self._committed = self._issued


class MemoryReads:
    """Reads of what was committed."""

    def __init__(self, rows: MemoryRows) -> None:
        self._rows = rows

    async def snapshot(self) -> Snapshot:
        rows = self._rows
        corrections = tuple(self._correct())
        open_runs = [run for run in rows.runs.values() if not run.status.finished]
        return Snapshot(
            tuple(
                (run, tuple(task for task in rows.of_run(run.id) if task.active))
                for run in open_runs
            ),
            dict(rows.blocks),
            tuple(rows.recalled.values()),
            corrections,
            tuple(rows.purging.values()),
        )

    def _correct(self) -> Iterable[Correction]:
        for run in self._rows.runs.values():
            counted = recounted(self._rows.of_run(run.id))
            if not run.status.finished and run.tally != counted:
                yield Correction(run.id, run.tally, counted)
                self._rows.runs[run.id] = corrected(run, counted)

    async def run(self, run_id: str) -> Run | None:
        return self._rows.runs.get(run_id)

    async def task(self, run_id: str, task_id: int) -> Task | None:
        return self._rows.tasks.get((run_id, task_id))

    async def tasks(self, run_id: str) -> tuple[Task, ...]:
        return tuple(self._rows.of_run(run_id))

    async def agrees(self, run_id: str) -> bool:
        run, tasks = self._rows.runs.get(run_id), self._rows.of_run(run_id)
        return run is None or run.tally == recounted(tasks)

    async def task_page(self, run_id: str, first: int, count: int) -> tuple[Task, ...]:
        wanted = range(first, first + count)
        return tuple(task for task in self._rows.of_run(run_id) if task.id in wanted)

    async def bad_tasks(self, run_id: str) -> tuple[BadTask, ...]:
        return tuple(each for key, each in self._rows.bad.items() if key[0] == run_id)

    async def finished(self, query: FinishedQuery) -> tuple[Run, ...]:
        found = [run for run in self._rows.runs.values() if is_listed(run, query)]
        found.sort(key=lambda run: (run.updated, run.id), reverse=True)
        first = (query.page - 1) * query.page_size
        page = found[first : first + query.page_size]
        return tuple(replace(run, kind=without_trail(run.kind)) for run in page)

    async def last_seen(self, run_id: str) -> dict[int, datetime]:
        return {task: at for (run, task), at in self._rows.seen.items() if run == run_id}

    async def events(self, limit: int, before: datetime | None = None) -> Sequence[Event]:
        found = [event for event in self._rows.events if before is None or event.at < before]
        latest = sorted(enumerate(found), key=lambda each: (each[1].at, each[0]), reverse=True)
        return [event for _, event in latest[:limit]]

    async def actions(
        self,
        wanted: Expression,
        *,
        limit: int = MOST_ACTIONS,
        hidden: Collection[str] = (),
    ) -> tuple[ActionDocument, ...]:
        log = [documented(number, event) for number, event in enumerate(self._rows.events, 1)]
        log.sort(key=lambda action: (action.time, int(action.id)), reverse=True)
        found = (each for each in log if matches(wanted, each))
        return tuple(each for each in found if not self._is_hidden(each, hidden))[:limit]

    def _is_hidden(self, action: ActionDocument, hidden: Collection[str]) -> bool:
        if action.nn is not UNSET and self._rows.holdings.get(action.nn) in hidden:
            return True
        run = None if action.run_id is UNSET else self._rows.runs.get(action.run_id)
        return run is not None and plays(run, hidden)

    async def samples(self, run_id: str) -> tuple[Sample, ...]:
        places = self._rows.samples.get(run_id, {})
        return tuple(places[each] for each in sorted(places))

    async def changed(self, after: int, most: int) -> ChangedRuns:
        later = {run: at for run, at in self._rows.sequences.items() if at > after}
        latest = sorted(later.items(), key=lambda pair: -pair[1])
        return ChangedRuns(self._rows.sequence, dict(latest[:most]), len(latest) <= most)

    async def samples_at(self, runs: Collection[str], at: datetime) -> dict[str, Sample]:
        found: dict[str, Sample] = {}
        for run_id in runs:
            points = await self.samples(run_id)
            before = [point for point in points if point.at <= at]
            if points:
                found[run_id] = before[-1] if before else points[0]
        return found

    async def contributions(self, run_id: str, limit: int) -> tuple[Contribution, ...]:
        return contributions_of(self._rows.of_run(run_id))[:limit]

    async def finished_since(self, at: datetime, hidden: Collection[str] = ()) -> int:
        query = FinishedQuery(since=at, hidden=frozenset(hidden))
        return sum(1 for run in self._rows.runs.values() if is_listed(run, query))

    async def provenance(self, run_id: str) -> tuple[Provenance, ...]:
        return tuple(each for each in self._rows.provenance if each.run == run_id)


class MemoryStore:
    """Rows that outlive their commits, as a database does."""

    def __init__(self, rows: MemoryRows | None = None) -> None:
        self.rows = rows or MemoryRows()
        self.reads = MemoryReads(self.rows)
        self.commits = MemoryCommits(self.rows)
        self.hears: list[Hears] = []

    async def take(self) -> MemoryCommits:
        """Ends the commits given before; what they had not written is lost."""
        self.commits.lose("another has taken the fence")
        self.commits = MemoryCommits(self.rows, hears=self.hears)
        for hearer in self.hears:
            hearer.begin(self.rows.sequence)
        return self.commits

    async def close(self) -> None:
        """Writes what was put and ends."""
        self.commits.release()

    def stats(self) -> CommitStats:
        """Nobody waits for memory."""
        return CommitStats(rounds=self.rows.sequence, changes=self.rows.sequence)


def contributions_of(tasks: Iterable[Task]) -> tuple[Contribution, ...]:
    """Who played these tasks, those with the most games first."""
    groups: dict[tuple[str, str], list[Task]] = {}
    for task in tasks:
        if not task.bad and task.results.games:
            groups.setdefault((task.machine.user, task.machine.arch), []).append(task)
    found = [
        Contribution(
            *group,
            len({task.machine.key.split("-")[0] for task in played}),
            total(task.results for task in played),
        )
        for group, played in groups.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.results.games, one.user, one.arch)))


def plays(run: Run, engines: Collection[str]) -> bool:
    return any(side.engine in engines for side in run.plan.sides)


def is_listed(run: Run, query: FinishedQuery) -> bool:
    """Whether a list of finished runs shows it."""
    status = run.status
    return (
        status.finished
        and not status.deleted
        and (not query.owner or run.plan.owner == query.owner)
        and (not query.engine or plays(run, {query.engine}))
        and (not query.green_only or status.flag is Flag.GREEN)
        and (not query.yellow_only or status.flag is Flag.YELLOW)
        and (not query.ltc_only or base_seconds(run.plan.tc) >= LTC_SECONDS)
        and (query.since is None or run.updated >= query.since)
        and not plays(run, query.hidden)
    )
