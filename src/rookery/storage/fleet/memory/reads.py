"""The reads of the in-memory twin, as the ports of the fleet want them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from msgspec import UNSET

from rookery.core.events import PERSONAL, Event
from rookery.core.purge import BadTask
from rookery.core.run import Run
from rookery.core.tally import recounted
from rookery.core.task import Task
from rookery.protocol.user.action_filter import Expression, matches
from rookery.protocol.user.actions import MOST_ACTIONS, ActionDocument
from rookery.service.fleet.ports import (
    EVERYTHING,
    STRANGER,
    ChangedRuns,
    Contribution,
    Correction,
    FinishedQuery,
    Played,
    Provenance,
    Sample,
    Sight,
    Snapshot,
    WorkerResults,
)
from rookery.storage.fleet.kinds import without_trail
from rookery.storage.fleet.logbook import documented
from rookery.storage.fleet.memory.queries import (
    contributions_of,
    is_listed,
    plays,
    results_by_worker,
)
from rookery.storage.fleet.memory.rows import MemoryRows
from rookery.storage.fleet.recovery import corrected


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
            tuple(
                Played(run.id, task.machine.short_name, task.machine.user, task.results.games)
                for run in open_runs
                for task in rows.of_run(run.id)
                if task.results.games
            ),
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

    async def finished(self, query: FinishedQuery) -> tuple[Run, ...]:
        found = [run for run in self._rows.runs.values() if is_listed(run, query)]
        found.sort(key=lambda run: (run.updated, run.id), reverse=True)
        first = (query.page - 1) * query.page_size
        page = found[first : first + query.page_size]
        return tuple(replace(run, kind=without_trail(run.kind)) for run in page)

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
        sight: Sight = STRANGER,
    ) -> tuple[ActionDocument, ...]:
        log = [documented(number, event) for number, event in enumerate(self._rows.events, 1)]
        log.sort(key=lambda action: (action.time, int(action.id)), reverse=True)
        found = (each for each in log if matches(wanted, each))
        return tuple(each for each in found if self._is_seen(each, sight))[:limit]

    def _is_seen(self, action: ActionDocument, sight: Sight) -> bool:
        run = None if action.run_id is UNSET else self._rows.runs.get(action.run_id)
        net_of = None if action.nn is UNSET else self._rows.holdings.get(action.nn)
        return (
            not sight.hidden.intersection({action.engine, net_of})
            and not (run is not None and plays(run, sight.hidden))
            and (action.team is UNSET or sight.teams is None or action.team in sight.teams)
            and (action.action not in PERSONAL or sight.person in (None, action.user))
        )

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

    async def results_by_worker(self, run_id: str, limit: int) -> tuple[WorkerResults, ...]:
        return results_by_worker(self._rows.of_run(run_id))[:limit]

    async def provenance(
        self, run_id: str, first: int = 0, count: int = EVERYTHING
    ) -> tuple[Provenance, ...]:
        found = tuple(each for each in self._rows.provenance if each.run == run_id)
        return found[first : first + count]
