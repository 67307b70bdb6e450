"""Tasks, their games, and the logs that workers sent."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from msgspec import UNSET
from msgspec.structs import replace
from starlette.responses import PlainTextResponse

from rookery.core.model.bounds import Count, RunId
from rookery.core.model.run import Run
from rookery.core.model.task import Results, Task
from rookery.core.protocol import v1, v1_insights
from rookery.core.protocol.games import Game
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.lifecycle import require_owner
from rookery.server.farm.views import FleetViews, UnknownRun
from rookery.server.files.blobs import UnknownBlob
from rookery.server.files.games import GameStore
from rookery.server.files.worker_logs import LogStore, StoredLog
from rookery.server.http.endpoint import LOOP, TEXT, THREAD, Endpoints, Work
from rookery.server.http.faults import NotFound
from rookery.server.http.query_values import Paging
from rookery.server.http.signatures import Parts
from rookery.server.identity.bearers import Caller, name_of_caller
from rookery.server.identity.users import Scope

MOST_APART = 1_000
"""How many tasks with separately kept results a list of a run considers, the latest ones."""

UNPACKED = "a file is read and unpacked in a thread"

api = Endpoints("/api/v1")


@dataclass(frozen=True, slots=True)
class TaskReader(Parts):
    """Reads tasks for lists: from memory while they are played, else from rows."""

    reads: FleetReads
    views: FleetViews

    async def load_page(self, run: Run, first: int, end: int) -> tuple[tuple[Task, ...], int]:
        """A page of a run's tasks, and the number of all its tasks."""
        count = run.tally.tasks
        if first >= count:
            return (), count
        return await self.views.task_page(run.id, first, min(end, count) - first), count

    async def load_last_seen(
        self, run_id: str, tasks: tuple[Task, ...]
    ) -> dict[tuple[str, int], datetime]:
        """The last sign of life of tasks: of active ones from memory, of others from their rows."""
        seen_at: dict[tuple[str, int], datetime] = {}
        if run_id and tasks:
            count = tasks[-1].id - tasks[0].id + 1
            rows = await self.reads.last_seen(run_id, tasks[0].id, count)
            seen_at = {(run_id, task): at for task, at in rows.items()}
        return seen_at | await self.views.last_seen(tasks)

    async def load_results_apart(self, tasks: tuple[Task, ...]) -> dict[int, Results]:
        """The results that were kept apart because they were reported faster than games can be
        played, by task."""
        fast = {task.id for task in tasks if task.too_fast}
        if not fast:
            return {}
        found = await self.reads.load_too_fast_tasks(tasks[0].run, MOST_APART)
        return {each.task.id: each.task.results for each in found if each.task.id in fast}


@api("GET /tasks", THREAD, "a page is shown in a thread, its rows are awaited")
async def list_tasks(
    visible: VisibleRuns,
    tasks: TaskReader,
    caller: Caller | None,
    paging: Paging,
    run: RunId = "",
) -> Work[v1.TaskList]:
    """The tasks of a run, or those being played in all runs."""
    viewer = name_of_caller(caller)
    if run:
        of_run = await visible.find(run, viewer)
        found, count = await tasks.load_page(of_run, paging.first, paging.end)
    else:
        at_play = await visible.tasks_at_play(viewer)
        found, count = at_play[paging.first : paging.end], len(at_play)
    apart = await tasks.load_results_apart(found)
    seen_at = await tasks.load_last_seen(run, found)
    return partial(_make_list, found, apart, seen_at, paging.page, more=count > paging.end)


def _make_list(
    found: tuple[Task, ...],
    apart: Mapping[int, Results],
    seen_at: Mapping[tuple[str, int], datetime],
    page: int,
    *,
    more: bool,
) -> v1.TaskList:
    shown = ((make_task_entry(task, apart), seen_at.get((task.run, task.id))) for task in found)
    tasks = tuple(replace(entry, seen=at) if at else entry for entry, at in shown)
    return v1.TaskList(tasks=tasks, page=page, more=more)


def make_task_entry(task: Task, apart: Mapping[int, Results]) -> v1.TaskEntry:
    return v1.TaskEntry(
        run=task.run,
        id=task.id,
        worker=task.machine.long_name,
        user=task.machine.user,
        active=task.active,
        bad=task.bad,
        too_fast=task.too_fast,
        start=task.start,
        num_games=task.games,
        created=task.created,
        reported=task.reported,
        results=task.results,
        kept_apart=apart.get(task.id, UNSET),
    )


# Games are open to everybody who may see their run. Logs contain paths and names of machines, so
# that only the run's owner and approvers may read them.


@api("GET /games", LOOP, "awaits one query")
async def list_games(
    visible: VisibleRuns,
    games: GameStore,
    caller: Caller | None,
    paging: Paging,
    run: RunId = "",
    task: Count = 0,
) -> v1_insights.GameList:
    """The games of a task: outcome, ending, half moves and opening."""
    await visible.find(run, name_of_caller(caller))
    found = await games.rows.list_games(run, task)
    chosen = enumerate(found[paging.first : paging.end], paging.first)
    shown = tuple(make_game_entry(number, game) for number, game in chosen)
    more = len(found) > paging.end
    return v1_insights.GameList(games=shown, page=paging.page, more=more)


@api("GET /logs", LOOP, "awaits one query", scope=Scope.READ)
async def list_logs(
    visible: VisibleRuns, logs: LogStore, caller: Caller, paging: Paging, run: RunId = ""
) -> v1_insights.LogList:
    """Logs that workers sent, by run."""
    require_owner(await visible.find(run, caller.user.name), caller.actor)
    found, more = paging.cut(await logs.rows.of_run(run, paging.first, paging.size + 1))
    shown = tuple(map(_make_log_entry, found))
    return v1_insights.LogList(logs=shown, page=paging.page, more=more)


@api("GET /logs/{log_id:int}", THREAD, UNPACKED, scope=Scope.READ, media=TEXT)
async def get_log(
    visible: VisibleRuns, logs: LogStore, caller: Caller, log_id: Count
) -> PlainTextResponse:
    """The text of a log."""
    log = await logs.rows.get(log_id) if log_id < 2**63 else None
    if log is None:
        raise NotFound
    try:
        require_owner(await visible.find(log.run, caller.user.name), caller.actor)
        return PlainTextResponse(await logs.read_text(log))
    except (UnknownRun, UnknownBlob):
        # The caller did not name the run that the original error is about.
        raise NotFound from None


def make_game_entry(number: int, game: Game) -> v1_insights.GameEntry:
    return v1_insights.GameEntry(
        number=number,
        outcome=game.outcome.name.lower(),
        ending=game.ending.name.lower(),
        new_is_white=game.new_is_white,
        plies=game.plies,
        opening=game.opening.hex(),
    )


def _make_log_entry(log: StoredLog) -> v1_insights.LogEntry:
    return v1_insights.LogEntry(
        id=log.id,
        run=log.run,
        task=log.task,
        call=log.call,
        worker=log.worker,
        time=log.at,
        size=log.size,
    )
