"""Reads the fleet's committed rows. Long lists are decoded a few rows at a time, so that the loop
can run in between.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, TypeVar

import asyncpg

from rookery.core.model.events import Action, Event
from rookery.core.model.run import Run
from rookery.core.model.task import PlayedBatch, Tally, Task
from rookery.core.protocol.actions import MOST_ACTIONS, Expression
from rookery.server.db.fence import Fence, FencedStatements
from rookery.server.db.pool import EventLog, Pool, Queries, clean, quiet
from rookery.server.farm import action_log, run_filters
from rookery.server.farm.action_log import event_of, failure_of, numbered_event_of
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
    LogVisibility,
    MachineGames,
    Snapshot,
    TaskPage,
    TaskQuery,
    WorkerResults,
)
from rookery.server.farm.rows import (
    all_run_columns,
    bad_task_of,
    contribution_of,
    provenance_of,
    purging_of,
    recalled_of,
    results_of,
    run_of,
    sample_of,
    task_of,
    worker_results_of,
)
from rookery.server.farm.rules.answers import ChartPoint, DoneCommand, MachineBlock, MachineHistory
from rookery.server.farm.rules.purge import BadTask
from rookery.server.farm.statements import Statements

# What a new primary repairs before it starts: rows that a crash left behind, and sums that disagree
# with the tasks (a bug of ours if it happens, so it is logged).

SLICE_ROWS = 5_000


class Recovery:
    """Repairs rows behind the new primary's fence, before its group commit starts."""

    def __init__(self, fence: Fence, queries: Queries, *, log: EventLog = quiet) -> None:
        self._fence = fence
        self._queries = queries
        self._log = log

    async def close_rest(self) -> None:
        """Mark the remaining active tasks of finished runs as ended."""
        closed = SLICE_ROWS
        while closed == SLICE_ROWS:
            async with self._fence.write() as connection:
                said = await connection.execute(self._queries["tasks_close_rest"], SLICE_ROWS)
                closed = int(said.rpartition(" ")[2])
            if closed:
                self._log("closings_completed", tasks=closed)

    async def correct(self, runs: Sequence[tuple[Run, Correction]], sequence: int) -> None:
        """Store runs with corrected sums."""
        rows = [all_run_columns(run, sequence, 0) for run, _ in runs]
        sql, columns = Statements(self._queries).joined({"runs_put": rows})
        statements = FencedStatements(self._fence)
        try:
            await statements.write(sql, sequence, 0, *columns)
        finally:
            await statements.close()
        for _, wrong in runs:
            self._log("sums_corrected", run=wrong.run, stored=wrong.stored, counted=wrong.counted)


def corrected(run: Run, counted: Tally) -> Run:
    """Return the run with correct sums, judged anew by them."""
    if counted.results == run.tally.results:
        return run.with_tally(counted)
    return replace(run, tally=counted, kind=run.kind.rejudged(counted.results))


# The tasks of unfinished runs, as a new primary reads them.

SLICE_TASKS = 5_000
READERS = 3
"""How many slices are read at once: PostgreSQL prepares the next one while one is decoded."""


class RunTasks(NamedTuple):
    """The active tasks of a run, the sums over all its tasks, and who played them."""

    tasks: tuple[Task, ...]
    counted: Tally
    played: Sequence[MachineGames]


def slice_runs(runs: Iterable[Run]) -> Iterator[list[str]]:
    """Split runs into slices with about SLICE_TASKS tasks each."""
    some: list[str] = []
    tasks = 0
    for run in runs:
        some.append(run.id)
        tasks += run.tally.tasks
        if tasks >= SLICE_TASKS:
            yield some
            some, tasks = [], 0
    if some:
        yield some


V = TypeVar("V")

ROWS_AT_ONCE = 200
FIGURES = "figures"
MACHINES = "machines"
"""With FIGURES, the parts that the primary publishes."""
FILTER_SECONDS = 3.0
"""The time limit of filtered lists; a stranger may ask for something that no index helps to
find."""
KNOWN_ACTIONS = [action.value for action in Action]


class FleetReads:
    """Reads committed rows. In the primary, `recovery` also repairs rows before a snapshot."""

    def __init__(self, pool: Pool, queries: Queries, recovery: Recovery | None = None) -> None:
        self._pool = pool
        self._queries = queries
        self.recovery = recovery

    async def snapshot(self) -> Snapshot:
        """Everything that a primary starts from; to be read after the fence is taken."""
        if self.recovery is not None:
            await self.recovery.close_rest()
        runs = await self._unfinished()
        parts = await self._read_tasks(runs)
        checked, corrections = await self._check(runs, parts)
        return Snapshot(
            tuple((run, parts[run.id].tasks) for run in checked),
            await self.blocks(),
            await self.recalled(),
            corrections,
            await _decoded(await self._fetch("purges_all"), purging_of),
            tuple(each for run in checked for each in parts[run.id].played),
        )

    async def blocks(self) -> dict[str, MachineBlock]:
        """Return the blocks of machines, by the machine's short name."""
        return {row["short_name"]: MachineBlock(**row) for row in await self._fetch("blocks_all")}

    async def done_command(self, key: str) -> DoneCommand | None:
        """Return the command with this key; None if it was not carried out."""
        row = await self._pool.fetchrow(self._queries["done_commands_find"], key)
        return None if row is None else DoneCommand(**row)

    async def recalled(self) -> tuple[MachineHistory, ...]:
        """Return the histories of all machines."""
        return await _decoded(await self._fetch("recalled_all"), recalled_of)

    async def unfinished(self) -> tuple[Run, ...]:
        """All unfinished runs, without the past values of tunes."""
        return await _decoded(await self._fetch("runs_unfinished"), run_of)

    async def tasks_at_play(self, runs: Collection[str] | None = None) -> tuple[Task, ...]:
        """Return the active tasks of these unfinished runs, or of all."""
        if runs is None:
            return await _decoded(await self._fetch("tasks_active"), task_of)
        return await _decoded(await self._fetch("tasks_active_of", list(runs)), task_of)

    async def run(self, run_id: str) -> Run | None:
        row = await self._pool.fetchrow(self._queries["runs_one"], run_id)
        if row is None:
            return None
        return run_of(row, (await self._histories([run_id]))[run_id])

    async def runs(self, ids: Collection[str]) -> tuple[Run, ...]:
        """Those of the runs that exist, without the past values of tunes."""
        return await _decoded(await self._fetch("runs_some", list(ids)), run_of) if ids else ()

    async def task(self, run_id: str, task_id: int) -> Task | None:
        row = await self._pool.fetchrow(self._queries["tasks_one"], run_id, task_id)
        return None if row is None else task_of(row)

    async def tasks(self, run_id: str) -> tuple[Task, ...]:
        """All tasks of a run, in the order of their numbers."""
        return await _decoded(await self._fetch("tasks_of_run", run_id), task_of)

    async def tasks_of_machine(self, short_name: str, limit: int) -> tuple[Task, ...]:
        """Return the latest tasks of a machine over all runs, newest first."""
        user, cores, key = short_name.split("-")
        first, end = f"{key}-", f"{key}."
        number = int(cores.removesuffix("cores"))
        rows = await self._fetch("tasks_of_machine", first, end, user, number, limit)
        return await _decoded(rows, task_of)

    async def agrees(self, run_id: str) -> bool:
        """Whether the sums of a run agree with its tasks, both read at the same moment."""
        return await self._pool.fetchval(self._queries["runs_agree"], run_id) is not False

    async def task_page(self, run_id: str, first: int, count: int) -> tuple[Task, ...]:
        """Up to `count` tasks of a run, from number `first` on."""
        rows = await self._fetch("tasks_page", run_id, first, first + count)
        return await _decoded(rows, task_of)

    async def load_too_fast_tasks(self, run_id: str, limit: int) -> tuple[BadTask, ...]:
        """Tasks with the results that were kept apart because they came faster than games can be
        played, latest first."""
        return await _decoded(await self._fetch("tasks_apart", run_id, limit), bad_task_of)

    async def bad_tasks(
        self, run_id: str, first: int = 0, count: int = EVERYTHING
    ) -> tuple[BadTask, ...]:
        """Tasks as they were before their results were struck out, in the order in which they were
        purged."""
        return await _decoded(
            await self._fetch("bad_tasks_of_run", run_id, first, count), bad_task_of
        )

    async def last_seen(
        self, run_id: str, first: int = 0, count: int = EVERYTHING
    ) -> dict[int, datetime]:
        """When tasks of a run last gave a sign of life, as far as known."""
        rows = await self._fetch("tasks_last_seen", run_id, first, count)
        return {row["id"]: row["seen"] for row in rows}

    async def finished(self, query: FinishedRunsQuery) -> tuple[Run, ...]:
        """Return a page of a list of finished runs, without the past values of tunes."""
        name = "runs_deleted" if query.deleted else "runs_finished"
        chosen = run_filters.finished(self._queries[name], query)
        rows = await self._pool.fetch(chosen.sql, *chosen.values, timeout=FILTER_SECONDS)
        return await _decoded(rows, run_of)

    async def count_finished(self, query: FinishedRunsQuery, most: int) -> int:
        """Return the length of such a list, counted up to `most`."""
        chosen = run_filters.finished_count(self._queries["runs_finished_count"], query, most)
        found: int = await self._pool.fetchval(chosen.sql, *chosen.values, timeout=FILTER_SECONDS)
        return found

    async def ids_from(self, prefix: str, limit: int, hidden: Collection[str]) -> tuple[str, ...]:
        """Ids of runs that begin with `prefix`, newest first, without those of hidden engines."""
        # The letter after f ends the range of hex digits.
        rows = await self._fetch("runs_begun_by", prefix, f"{prefix}g", list(hidden), limit)
        return tuple(row["id"] for row in rows)

    async def events(self, limit: int, before: datetime | None = None) -> Sequence[Event]:
        """Events of runs and tasks, newest first."""
        rows = await self._fetch("actions_latest", KNOWN_ACTIONS, before, limit)
        return await _decoded(rows, event_of)

    async def actions(
        self,
        wanted: Expression,
        *,
        limit: int = MOST_ACTIONS,
        sight: LogVisibility = STRANGER,
    ) -> tuple[Event, ...]:
        """Log events that match a filter and that the reader may see, newest first."""
        chosen = action_log.actions(self._queries["actions_filtered"], wanted, limit, sight)
        rows = await self._pool.fetch(chosen.sql, *chosen.values, timeout=FILTER_SECONDS)
        return await _decoded(rows, numbered_event_of)

    async def failures(self, wanted: FailureQuery) -> tuple[FailureGroup, ...]:
        """Failures of tasks, grouped where they are alike."""
        chosen = action_log.failures(self._queries["actions_failures"], wanted)
        rows = await self._pool.fetch(chosen.sql, *chosen.values, timeout=FILTER_SECONDS)
        return await _decoded(rows, failure_of)

    async def samples(self, run_id: str) -> tuple[ChartPoint, ...]:
        """Return the points of a run's charts, in order."""
        return await _decoded(await self._fetch("samples_of_run", run_id), sample_of)

    async def samples_at(self, runs: Collection[str], at: datetime) -> dict[str, ChartPoint]:
        """For each run the last chart point up to `at`, or the first point of a younger run."""
        found = await _decoded(await self._fetch("samples_at", list(runs), at), sample_of)
        return {sample.run: sample for sample in found}

    async def contributions(self, run_id: str, limit: int) -> tuple[Contribution, ...]:
        """Return the contributions to a run, largest first, without results that were struck
        out."""
        rows = await self._fetch("tasks_by_contributor", run_id, limit)
        return await _decoded(rows, contribution_of)

    async def list_tasks(self, query: TaskQuery) -> TaskPage:
        """Return a page of a run's tasks, searched and sorted in the database."""
        rows = await self._pool.fetch(
            self._queries["tasks_listed"],
            query.run,
            clean(query.text),
            query.state,
            query.order.value,
            query.descending,
            query.first,
            query.count,
            [clean(name) for name in query.differing],
            timeout=FILTER_SECONDS,
        )
        return TaskPage(await _decoded(rows, task_of), rows[0]["total"] if rows else 0)

    async def struck_out(self, run_id: str, tasks: Collection[int]) -> dict[int, BadTask]:
        """Return the original results of those tasks that were struck out or kept apart."""
        rows = await self._fetch("bad_tasks_among", run_id, list(tasks))
        return {bad.task.id: bad for bad in await _decoded(rows, bad_task_of)}

    async def finished_since(self, at: datetime, hidden: Collection[str] = ()) -> int:
        """How many runs have ended since `at`."""
        found: int = await self._pool.fetchval(
            self._queries["runs_finished_since"], at, sorted(hidden)
        )
        return found

    async def results_by_worker(self, run_id: str, limit: int) -> tuple[WorkerResults, ...]:
        """Return the results of each worker in a run, most games first."""
        rows = await self._fetch("tasks_by_worker", run_id, limit)
        return await _decoded(rows, worker_results_of)

    async def provenance(
        self, run_id: str, first: int = 0, count: int = EVERYTHING
    ) -> tuple[PlayedBatch, ...]:
        """How the batches of a run were played, in the order of their arrival."""
        rows = await self._fetch("provenance_of_run", run_id, first, count)
        return await _decoded(rows, provenance_of)

    async def changed(self, after: int, most: int) -> ChangedRuns:
        """Return the most recent runs that commits after `after` changed."""
        # Read this first: a commit in between is then reported twice rather than missed.
        sequence = await self._pool.fetchval(self._queries["commits_sequence"])
        rows = await self._fetch("runs_changed", after, most + 1)
        found = {row["id"]: row["sequence"] for row in rows[:most]}
        return ChangedRuns(sequence, found, complete=len(rows) <= most)

    async def published(self, part: str, known: datetime | None = None) -> Published | None:
        """Return what the primary published last; without the body if it has not changed since
        `known`."""
        row = await self._pool.fetchrow(self._queries["activity_read"], part, known)
        return None if row is None else Published(**row)

    async def _unfinished(self) -> tuple[Run, ...]:
        rows = await self._fetch("runs_unfinished")
        histories = await self._histories([row["id"] for row in rows])
        return await _decoded(rows, lambda row: run_of(row, histories[row["id"]]))

    async def _read_tasks(self, runs: Iterable[Run]) -> dict[str, RunTasks]:
        """Return the tasks of runs, a few runs at a time: no statement takes long, however many
        tasks there are, and the rows of one slice are decoded while others are read."""
        slices, found = slice_runs(runs), dict[str, RunTasks]()

        async def read() -> None:
            for some in slices:  # the readers share it, and each takes the next one
                found.update(await self._read_slice(some))

        readers = [asyncio.create_task(read()) for _ in range(READERS)]
        try:
            await asyncio.gather(*readers)
        finally:
            for reader in readers:
                reader.cancel()
        return found

    async def _read_slice(self, runs: Sequence[str]) -> dict[str, RunTasks]:
        tasks: dict[str, list[Task]] = {run: [] for run in runs}
        for task in await self.tasks_at_play(runs):
            tasks[task.run].append(task)
        played: dict[str, list[MachineGames]] = {run: [] for run in runs}
        for each in await _decoded(await self._fetch("tasks_played", runs), _played_of):
            played[each.run].append(each)
        sums = {row["run"]: row for row in await self._fetch("tasks_sums", runs)}
        return {
            run: RunTasks(tuple(tasks[run]), _tally(sums.get(run), tasks[run]), played[run])
            for run in runs
        }

    async def _histories(self, runs: Collection[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for row in await self._fetch("run_history_of", list(runs)):
            found[row["run"]].append(row["entry"])
        return found

    async def _check(
        self, runs: Iterable[Run], parts: Mapping[str, RunTasks]
    ) -> tuple[list[Run], tuple[Correction, ...]]:
        """Return the runs with sums that agree with their tasks, and the corrections that were
        needed."""
        wrong: list[tuple[Run, Correction]] = []
        right: list[Run] = []
        for run in runs:
            counted = parts[run.id].counted
            if counted == run.tally:
                right.append(run)
                continue
            right.append(corrected(run, counted))
            wrong.append((right[-1], Correction(run.id, run.tally, counted)))
        if wrong and self.recovery is not None:
            sequence = await self._pool.fetchval(self._queries["commits_sequence"])
            await self.recovery.correct(wrong, sequence)
        return right, tuple(correction for _, correction in wrong)

    async def _fetch(self, query: str, *values: object) -> list[asyncpg.Record]:
        return await self._pool.fetch(self._queries[query], *values)


def _played_of(row: asyncpg.Record) -> MachineGames:
    return MachineGames(row["run"], row["machine"], row["player"], row["games"])


def _tally(row: asyncpg.Record | None, active: Sequence[Task]) -> Tally:
    if row is None:
        return Tally()
    return Tally(
        workers=len(active),
        cores=sum(task.machine.cores for task in active),
        committed=row["committed"],
        total=row["total"],
        tasks=row["tasks"],
        results=results_of(row),
    )


async def _decoded(
    rows: Sequence[asyncpg.Record], decode: Callable[[asyncpg.Record], V]
) -> tuple[V, ...]:
    values: list[V] = []
    for start in range(0, len(rows), ROWS_AT_ONCE):
        values += map(decode, rows[start : start + ROWS_AT_ONCE])
        await asyncio.sleep(0)
    return tuple(values)
