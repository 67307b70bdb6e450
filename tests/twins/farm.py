"""The fleet's store in memory.

A commit takes one turn of the loop. A test may hold commits back, let them go on, or lose them as
a database would that broke during one.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from msgspec.structs import replace as with_fields

from rookery.farm.columns import without_trail
from rookery.farm.commits import CommitListener, CommitStats, QueueFull, StateLost
from rookery.farm.published import Published
from rookery.farm.read_values import (
    EVERYTHING,
    STRANGER,
    ChangedRuns,
    Contribution,
    Correction,
    FailureGroup,
    FailureQuery,
    FinishedRunsQuery,
    Grouping,
    LogVisibility,
    MachineGames,
    Snapshot,
    TaskOrder,
    TaskPage,
    TaskQuery,
    WorkerResults,
)
from rookery.farm.reads import FleetReads, corrected
from rookery.model.events import PERSONAL, Event
from rookery.model.machine import Machine
from rookery.model.run import Run
from rookery.model.task import PlayedBatch, Task, TaskKey, recounted, total
from rookery.model.timecontrol import base_seconds
from rookery.protocol.actions import MOST_ACTIONS, Expression, document_of, matches
from rookery.protocol.user_queries import LTC_SECONDS
from rookery.rules.answers import Changes, ChartPoint, MachineHistory
from rookery.rules.observations import chart_period, chart_place
from rookery.rules.purge import BadTask, Purging
from rookery.stats.sprt import Flag

# The rows of the in-memory twin: what has been committed.


@dataclass(slots=True)
class MemoryRows:
    """What has been committed."""

    runs: dict[str, Run] = field(default_factory=dict)
    tasks: dict[TaskKey, Task] = field(default_factory=dict)
    bad: dict[TaskKey, BadTask] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    samples: dict[str, dict[int, ChartPoint]] = field(default_factory=dict)
    provenance: list[PlayedBatch] = field(default_factory=list)
    blocks: dict[str, str] = field(default_factory=dict)
    recalled: dict[str, MachineHistory] = field(default_factory=dict)
    published: dict[str, bytes] = field(default_factory=dict)
    seen: dict[TaskKey, datetime] = field(default_factory=dict)
    purging: dict[str, Purging] = field(default_factory=dict)
    done: dict[str, str] = field(default_factory=dict)
    """The runs of commands, by their keys."""
    file_access: dict[str, str] = field(default_factory=dict)
    """By file, the engine it was given for."""
    sequence: int = 0
    sequences: dict[str, int] = field(default_factory=dict)
    """By run, the last commit that changed it."""

    def write(self, changes: Changes) -> set[str]:
        """Gives the runs that were changed."""
        self.runs |= {run.id: run for run in changes.runs}
        self.tasks |= {(task.run, task.id): task for task in changes.tasks}
        for closing in changes.closings:
            self._close((closing.run, task.id) for task in closing.tasks)
        self.events += changes.events
        self.provenance += changes.provenance
        self.bad |= {(each.task.run, each.task.id): each for each in changes.bad}
        self.recalled |= {each.short_name: each for each in changes.recalled}
        self.seen |= {(each.run, each.task): each.at for each in changes.seen}
        for block in changes.blocks:
            self.blocks.pop(block.short_name, None)
            if block.message is not None:
                self.blocks[block.short_name] = block.message
        self.purging |= {each.run: each for each in (*changes.purges, *changes.purging)}
        for run_id in changes.purged:
            self.purging.pop(run_id, None)
        self.done |= dict(changes.done)
        for sample in changes.samples:
            self._thin(sample)
        self.sequence += 1
        self.sequences |= {run.id: self.sequence for run in changes.runs}
        return {run.id for run in changes.runs} | {task.run for task in changes.tasks}

    def _close(self, keys: Iterable[TaskKey]) -> None:
        for key in keys:
            self.tasks[key] = self.tasks[key].closed()

    def _thin(self, sample: ChartPoint) -> None:
        places = self.samples.setdefault(sample.run, {})
        places[chart_place(sample)] = sample
        for each in [each for each in places if each % chart_period(sample.games)]:
            del places[each]

    def of_run(self, run_id: str) -> list[Task]:
        return sorted(
            (task for task in self.tasks.values() if task.run == run_id), key=lambda task: task.id
        )


MOST_CHANGES = 20_000


class MemoryCommits:
    """The group commit; see the module's text for what a test may do with it."""

    def __init__(
        self,
        rows: MemoryRows,
        *,
        most_changes: int = MOST_CHANGES,
        lost: Callable[[str], object] = lambda _reason: None,
        hears: Collection[CommitListener] = (),
    ) -> None:
        self._rows = rows
        self._hears = hears
        self._most_changes = most_changes
        self._lost = lost
        self._queue: list[Changes] = []
        self._issued = self._committed = rows.sequence
        self._broken = False
        self._going = asyncio.Event()
        self._going.set()

    def check_capacity(self) -> None:
        if self._broken:
            raise StateLost
        if len(self._queue) >= self._most_changes:
            raise QueueFull

    def put(self, changes: Changes) -> int:
        if self._broken:
            raise StateLost
        self._queue.append(changes)
        self._issued += 1
        return self._issued

    def committed(self, sequence: int) -> asyncio.Future[bool] | None:
        if sequence <= self._committed:
            return None
        return asyncio.ensure_future(self._is_committed(sequence))

    async def _is_committed(self, sequence: int) -> bool:
        try:
            await self.wait_committed(sequence)
        except StateLost:
            return False
        return True

    async def wait_committed(self, sequence: int) -> None:
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
        for changes in self._queue:
            changed = self._rows.write(changes)
            for hearer in self._hears:
                hearer.add(self._rows.sequence, changed)
        self._queue.clear()
        if not self._broken:
            self._committed = self._issued


# What the database answers by SQL, asked of runs and tasks in memory.


def contributions_of(tasks: Iterable[Task]) -> tuple[Contribution, ...]:
    """Who played these tasks, those with the most games first."""
    groups: dict[tuple[Grouping, str], list[Task]] = {}
    for task in tasks:
        if not task.bad and task.results.games:
            for group in names_of(task.machine).items():
                groups.setdefault(group, []).append(task)
    found = [
        Contribution(
            *group,
            len({(task.machine.user, task.machine.key.split("-")[0]) for task in played}),
            total(task.results for task in played),
        )
        for group, played in groups.items()
    ]
    return tuple(sorted(found, key=lambda one: (one.by, -one.results.games, one.name)))


def names_of(machine: Machine) -> dict[Grouping, str]:
    """The groups that a machine belongs to."""
    return {
        Grouping.USER: machine.user,
        Grouping.CPU: machine.claimed.cpu,
        Grouping.ARCH: machine.arch,
        Grouping.RUNNER: machine.claimed.runner,
    }


ORDERS: dict[TaskOrder, Callable[[Task], float | str]] = {
    TaskOrder.NUMBER: lambda task: task.id,
    TaskOrder.MACHINE: lambda task: task.machine.long_name,
    TaskOrder.GAMES: lambda task: task.results.games,
    TaskOrder.REPORTED: lambda task: task.reported.timestamp(),
    TaskOrder.CRASHES: lambda task: task.results.crashes,
    TaskOrder.TIME_LOSSES: lambda task: task.results.time_losses,
}


def is_wanted(task: Task, query: TaskQuery) -> bool:
    """Whether a list of tasks shows it."""
    states = {
        "": True,
        "playing": task.active,
        "ended": not (task.active or task.bad or task.too_fast),
        "struck out": task.bad and not task.too_fast,
        "kept apart": task.too_fast,
        "crashes": task.results.crashes + task.results.time_losses > 0,
    }
    machine = task.machine
    name = f"{machine.user}-{machine.cores}cores-{machine.key}"
    return states[query.state] and query.text.lower() in name.lower()


def results_by_worker(tasks: Iterable[Task]) -> tuple[WorkerResults, ...]:
    """What each process of a worker played of these tasks, those with the most games first."""
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        if not task.bad and task.results.games:
            groups.setdefault(task.machine.key, []).append(task)
    found = [
        WorkerResults(
            played[0].machine.long_name,
            played[0].machine.user,
            total(task.results for task in played),
        )
        for played in groups.values()
    ]
    return tuple(sorted(found, key=lambda one: (-one.results.games, one.worker)))


def plays(run: Run, engines: Collection[str]) -> bool:
    return any(side.engine in engines for side in run.plan.sides)


def searched_words(run: Run) -> str:
    """What a list of runs is searched in."""
    out = run.status.approved or run.tally.tasks > 0
    tags = [side.tag for side in run.plan.sides[:2]]
    return " ".join((run.plan.owner, *tags, run.plan.info if out else ""))


def is_listed(run: Run, query: FinishedRunsQuery) -> bool:
    """Whether a list of finished runs shows it."""
    status = run.status
    return (
        (status.finished or query.deleted)
        and status.deleted is query.deleted
        and (not query.owner or run.plan.owner == query.owner)
        and (not query.engine or plays(run, {query.engine}))
        and (not query.green_only or status.flag is Flag.GREEN)
        and (not query.yellow_only or status.flag is Flag.YELLOW)
        and (not query.ltc_only or base_seconds(run.plan.time_control) >= LTC_SECONDS)
        and (query.since is None or run.updated >= query.since)
        and (query.until is None or run.updated < query.until)
        and query.text.lower() in searched_words(run).lower()
        and not plays(run, query.hidden)
    )


def _failure_group(events: Sequence[Event]) -> FailureGroup:
    last = events[-1]
    return FailureGroup(
        run=last.run,
        run_name=last.run_name,
        action=last.action,
        message=last.message or "",
        count=len(events),
        machines=len({"-".join(event.worker.split("-")[:3]) for event in events}),
        first=events[0].at,
        last=last.at,
        latest=tuple((event.worker, event.task or 0) for event in reversed(events[-5:])),
    )


# The reads of the in-memory twin.


class MemoryReads(FleetReads):
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
            tuple(
                MachineGames(run.id, task.machine.short_name, task.machine.user, task.results.games)
                for run in open_runs
                for task in rows.of_run(run.id)
                if task.results.games
            ),
        )

    async def blocks(self) -> dict[str, str]:
        return dict(self._rows.blocks)

    async def done_run(self, key: str) -> str | None:
        return self._rows.done.get(key)

    async def recalled(self) -> tuple[MachineHistory, ...]:
        return tuple(self._rows.recalled.values())

    async def unfinished(self) -> tuple[Run, ...]:
        found = (run for run in self._rows.runs.values() if not run.status.finished)
        return tuple(replace(run, kind=without_trail(run.kind)) for run in found)

    async def tasks_at_play(self, runs: Collection[str] | None = None) -> tuple[Task, ...]:
        unfinished = {run.id for run in await self.unfinished()}
        wanted = unfinished if runs is None else unfinished & set(runs)
        return tuple(
            task for task in self._rows.tasks.values() if task.active and task.run in wanted
        )

    def _correct(self) -> Iterable[Correction]:
        for run in self._rows.runs.values():
            counted = recounted(self._rows.of_run(run.id))
            if not run.status.finished and run.tally != counted:
                yield Correction(run.id, run.tally, counted)
                self._rows.runs[run.id] = corrected(run, counted)

    async def run(self, run_id: str) -> Run | None:
        return self._rows.runs.get(run_id)

    async def ids_from(self, prefix: str, limit: int, hidden: Collection[str]) -> tuple[str, ...]:
        found = [
            run.id
            for run in self._rows.runs.values()
            if run.id.startswith(prefix) and not plays(run, hidden)
        ]
        return tuple(sorted(found, reverse=True)[:limit])

    async def task(self, run_id: str, task_id: int) -> Task | None:
        return self._rows.tasks.get((run_id, task_id))

    async def runs(self, ids: Collection[str]) -> tuple[Run, ...]:
        found = (run for run in self._rows.runs.values() if run.id in ids)
        return tuple(replace(run, kind=without_trail(run.kind)) for run in found)

    async def tasks_of_machine(self, short_name: str, limit: int) -> tuple[Task, ...]:
        found = [
            task for task in self._rows.tasks.values() if task.machine.short_name == short_name
        ]
        return tuple(sorted(found, key=lambda task: task.created, reverse=True)[:limit])

    async def tasks(self, run_id: str) -> tuple[Task, ...]:
        return tuple(self._rows.of_run(run_id))

    async def agrees(self, run_id: str) -> bool:
        run, tasks = self._rows.runs.get(run_id), self._rows.of_run(run_id)
        return run is None or run.tally == recounted(tasks)

    async def task_page(self, run_id: str, first: int, count: int) -> tuple[Task, ...]:
        wanted = range(first, first + count)
        return tuple(task for task in self._rows.of_run(run_id) if task.id in wanted)

    async def tasks_apart(self, run_id: str, limit: int) -> tuple[BadTask, ...]:
        found = [each for each in await self.bad_tasks(run_id) if each.task.too_fast]
        return tuple(reversed(found))[:limit]

    async def bad_tasks(
        self, run_id: str, first: int = 0, count: int = EVERYTHING
    ) -> tuple[BadTask, ...]:
        found = tuple(each for key, each in self._rows.bad.items() if key[0] == run_id)
        return found[first : first + count]

    async def finished(self, query: FinishedRunsQuery) -> tuple[Run, ...]:
        found = [run for run in self._rows.runs.values() if is_listed(run, query)]
        found.sort(key=lambda run: (run.updated, run.id), reverse=True)
        first = (query.page - 1) * query.page_size
        page = found[first : first + query.page_size]
        return tuple(replace(run, kind=without_trail(run.kind)) for run in page)

    async def count_finished(self, query: FinishedRunsQuery, most: int) -> int:
        return min(most, sum(is_listed(run, query) for run in self._rows.runs.values()))

    async def last_seen(
        self, run_id: str, first: int = 0, count: int = EVERYTHING
    ) -> dict[int, datetime]:
        wanted, seen = range(first, first + count), self._rows.seen.items()
        return {task: at for (run, task), at in seen if run == run_id and task in wanted}

    async def events(self, limit: int, before: datetime | None = None) -> Sequence[Event]:
        found = [event for event in self._rows.events if before is None or event.at < before]
        latest = sorted(enumerate(found), key=lambda each: (each[1].at, each[0]), reverse=True)
        return [event for _, event in latest[:limit]]

    async def actions(
        self,
        wanted: Expression,
        *,
        limit: int = MOST_ACTIONS,
        sight: LogVisibility = STRANGER,
    ) -> tuple[Event, ...]:
        numbered = enumerate(self._rows.events, 1)
        log = [with_fields(event, id=str(number)) for number, event in numbered]
        log.sort(key=lambda event: (event.at, int(event.id)), reverse=True)
        found = (each for each in log if matches(wanted, document_of(each)))
        return tuple(each for each in found if self._is_seen(each, sight))[:limit]

    async def failures(self, wanted: FailureQuery) -> tuple[FailureGroup, ...]:
        groups: dict[tuple[str, str, str], list[Event]] = {}
        for event in self._rows.events:
            if event.task is None or event.action not in wanted.kinds or event.at < wanted.since:
                continue
            if wanted.run in ("", event.run) and self._is_seen(event, wanted.sight):
                alike = re.sub("[0-9]+", "0", (event.message or "")[:300])
                groups.setdefault((event.run, event.action, alike), []).append(event)
        found = sorted(map(_failure_group, groups.values()), key=lambda one: one.last, reverse=True)
        return tuple(found)[wanted.first : wanted.first + wanted.limit]

    def _is_seen(self, event: Event, sight: LogVisibility) -> bool:
        run, net_of = self._rows.runs.get(event.run), self._rows.file_access.get(event.nn)
        return (
            not sight.hidden.intersection({event.engine, net_of})
            and not (run is not None and plays(run, sight.hidden))
            and (not event.team or sight.teams is None or event.team in sight.teams)
            and (event.action not in PERSONAL or sight.person in (None, event.subject))
        )

    async def samples(self, run_id: str) -> tuple[ChartPoint, ...]:
        places = self._rows.samples.get(run_id, {})
        return tuple(places[each] for each in sorted(places))

    async def published(self, part: str, known: datetime | None = None) -> Published | None:
        body = self._rows.published.get(part)
        return None if body is None else Published(0.0, known or datetime.now(UTC), body)

    async def changed(self, after: int, most: int) -> ChangedRuns:
        later = {run: at for run, at in self._rows.sequences.items() if at > after}
        latest = sorted(later.items(), key=lambda pair: -pair[1])
        return ChangedRuns(self._rows.sequence, dict(latest[:most]), len(latest) <= most)

    async def samples_at(self, runs: Collection[str], at: datetime) -> dict[str, ChartPoint]:
        found: dict[str, ChartPoint] = {}
        for run_id in runs:
            points = await self.samples(run_id)
            before = [point for point in points if point.at <= at]
            if points:
                found[run_id] = before[-1] if before else points[0]
        return found

    async def contributions(self, run_id: str, limit: int) -> tuple[Contribution, ...]:
        found = contributions_of(self._rows.of_run(run_id))
        return tuple(
            one for by in Grouping for one in [each for each in found if each.by is by][:limit]
        )

    async def list_tasks(self, query: TaskQuery) -> TaskPage:
        found = [task for task in self._rows.of_run(query.run) if is_wanted(task, query)]
        found.sort(key=ORDERS[query.order], reverse=query.descending)
        return TaskPage(tuple(found[query.first : query.first + query.count]), len(found))

    async def struck_out(self, run_id: str, tasks: Collection[int]) -> dict[int, BadTask]:
        found = await self.bad_tasks(run_id)
        return {bad.task.id: bad for bad in found if bad.task.id in tasks}

    async def finished_since(self, at: datetime, hidden: Collection[str] = ()) -> int:
        query = FinishedRunsQuery(since=at, hidden=frozenset(hidden))
        return sum(1 for run in self._rows.runs.values() if is_listed(run, query))

    async def results_by_worker(self, run_id: str, limit: int) -> tuple[WorkerResults, ...]:
        return results_by_worker(self._rows.of_run(run_id))[:limit]

    async def provenance(
        self, run_id: str, first: int = 0, count: int = EVERYTHING
    ) -> tuple[PlayedBatch, ...]:
        found = tuple(each for each in self._rows.provenance if each.run == run_id)
        return found[first : first + count]


# The in-memory twin of the fleet's store as a whole.


class MemoryStore:
    """Rows that outlive their commits, as a database does."""

    def __init__(self, rows: MemoryRows | None = None) -> None:
        self.rows = rows or MemoryRows()
        self.reads = MemoryReads(self.rows)
        self.commits = MemoryCommits(self.rows)
        self.hears: list[CommitListener] = []

    async def take(self) -> MemoryCommits:
        """Ends the commits given before; what they had not written is lost."""
        self.commits.lose("another has taken the fence")
        self.commits = MemoryCommits(self.rows, hears=self.hears)
        for hearer in self.hears:
            hearer.begin(self.rows.sequence)
        return self.commits

    def abandon(self, reason: str) -> None:
        self.commits.lose(reason)

    async def publish(self, part: str, body: bytes | None) -> None:
        if body is not None:
            self.rows.published[part] = body

    async def close(self) -> None:
        """Writes what was put and ends."""
        self.commits.release()

    def stats(self) -> CommitStats:
        """Nobody waits for memory."""
        return CommitStats(rounds=self.rows.sequence, changes=self.rows.sequence)
