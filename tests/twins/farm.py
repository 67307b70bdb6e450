"""The fleet's store in memory: reads of what was committed, and the store as a whole."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from msgspec.structs import replace as with_fields

from rookery.core.model.events import PERSONAL, Event
from rookery.core.model.kinds import Kind
from rookery.core.model.run import Run
from rookery.core.model.task import PlayedBatch, Task, recounted
from rookery.core.protocol.actions import MOST_ACTIONS, Expression, document_of, matches
from rookery.server.farm.commits import CommitListener, CommitStats
from rookery.server.farm.published import Published
from rookery.server.farm.read_values import (
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
    TaskPage,
    TaskQuery,
    WorkerResults,
)
from rookery.server.farm.reads import FleetReads, corrected
from rookery.server.farm.rules.answers import ChartPoint, DoneCommand, MachineBlock, MachineHistory
from rookery.server.farm.rules.purge import BadTask
from tests.twins.farm_commits import MemoryCommits, MemoryRows
from tests.twins.farm_queries import (
    ORDERS,
    contributions_of,
    group_failures,
    is_listed,
    is_wanted,
    plays,
    results_by_worker,
)


def without_trail(kind: Kind) -> Kind:
    """The kind without its trail, as lists need it."""
    parts = kind.parts
    return kind.joined(parts._replace(trail=())) if parts.trail else kind


class MemoryReads(FleetReads):
    """In-memory reads of committed rows."""

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

    async def blocks(self) -> dict[str, MachineBlock]:
        return dict(self._rows.blocks)

    async def done_command(self, key: str) -> DoneCommand | None:
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

    async def load_too_fast_tasks(self, run_id: str, limit: int) -> tuple[BadTask, ...]:
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
        found = sorted(map(group_failures, groups.values()), key=lambda one: one.last, reverse=True)
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


class MemoryStore:
    """A store in memory whose rows outlive its group commits, like a database."""

    def __init__(self, rows: MemoryRows | None = None) -> None:
        self.rows = rows or MemoryRows()
        self.reads = MemoryReads(self.rows)
        self.commits = MemoryCommits(self.rows)
        self.listeners: list[CommitListener] = []

    async def take(self) -> MemoryCommits:
        """Ends the previous group commit; what it had not written is lost."""
        self.commits.lose("another has taken the fence")
        self.commits = MemoryCommits(self.rows, listeners=self.listeners)
        for listener in self.listeners:
            listener.begin(self.rows.sequence)
        return self.commits

    def abandon(self, reason: str) -> None:
        self.commits.lose(reason)

    async def publish(self, part: str, body: bytes | None) -> None:
        if body is not None:
            self.rows.published[part] = body

    async def close(self) -> None:
        """Writes pending changes and ends."""
        self.commits.release()

    def stats(self) -> CommitStats:
        """The counters are always zero."""
        return CommitStats(rounds=self.rows.sequence, changes=self.rows.sequence)
