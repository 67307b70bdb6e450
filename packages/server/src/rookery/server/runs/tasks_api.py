"""Tasks, their games, and the logs that workers sent."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import UNSET
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rookery.core.model.bounds import Count, RunId
from rookery.core.model.run import Run
from rookery.core.model.task import Results, Task
from rookery.core.protocol import v1, v1_insights
from rookery.core.protocol.games import Game
from rookery.core.protocol.user_queries import parse_integer
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.rules.lifecycle import require_owner
from rookery.server.files.blobs import UnknownBlob
from rookery.server.files.worker_logs import StoredLog
from rookery.server.http import queries
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer
from rookery.server.http.callers import (
    find_run,
    find_tasks_at_play,
    require_bearer,
    translated_errors,
    viewer_name,
)
from rookery.server.http.faults import NotFound
from rookery.server.http.openapi import Operation, described
from rookery.server.people.users import Scope
from rookery.server.runs.api import PAGING

MOST_APART = 1_000
"""How many tasks with separately kept results a list of a run considers, the latest ones."""
MOST_TASKS = 10_000_000
TEXT = "text/plain; charset=utf-8"


@described(
    Operation(
        "The tasks of a run, or those being played in all runs",
        {200: v1.TaskList},
        query={"run": RunId, **PAGING},
    )
)
@runs(Domain.THREAD, "a page is shown in a thread, its rows are awaited")
async def list_tasks(request: Request) -> Response:
    site = site_of(request)
    query = request.query_params
    viewer = await viewer_name(request, site.bearers)
    with translated_errors():
        run_id, (page, size) = queries.read_run_id(query), queries.read_page(query)
        first, end = (page - 1) * size, page * size
        if run_id:
            run = await find_run(site, run_id, viewer)
            found, count = await _load_tasks(site, run, first, end)
        else:
            at_play = await find_tasks_at_play(site, viewer)
            found, count = at_play[first:end], len(at_play)
    apart, seen_at = (
        await _load_results_apart(site, found),
        await _load_last_seen(site, run_id, found),
    )
    return await site.threads.cpu(_tasks_answer, found, apart, seen_at, page, more=count > end)


async def _load_last_seen(
    site: Site, run_id: str, tasks: tuple[Task, ...]
) -> dict[tuple[str, int], datetime]:
    """The last sign of life of tasks: of active ones from memory, of others from their rows."""
    seen_at: dict[tuple[str, int], datetime] = {}
    if run_id and tasks:
        count = tasks[-1].id - tasks[0].id + 1
        rows = await site.reads.last_seen(run_id, tasks[0].id, count)
        seen_at = {(run_id, task): at for task, at in rows.items()}
    return seen_at | await site.fleet.views.last_seen(tasks)


async def _load_results_apart(site: Site, tasks: tuple[Task, ...]) -> dict[int, Results]:
    """The results that were kept apart because they were reported faster than games can be played,
    by task."""
    fast = {task.id for task in tasks if task.too_fast}
    if not fast:
        return {}
    found = await site.reads.load_too_fast_tasks(tasks[0].run, MOST_APART)
    return {each.task.id: each.task.results for each in found if each.task.id in fast}


async def _load_tasks(site: Site, run: Run, first: int, end: int) -> tuple[tuple[Task, ...], int]:
    """A page of a run's tasks, and the number of all its tasks."""
    count = run.tally.tasks
    if first >= count:
        return (), count
    return await site.fleet.views.task_page(run.id, first, min(end, count) - first), count


def _tasks_answer(
    found: tuple[Task, ...],
    apart: Mapping[int, Results],
    seen_at: Mapping[tuple[str, int], datetime],
    page: int,
    *,
    more: bool,
) -> Response:
    shown = ((make_task_entry(task, apart), seen_at.get((task.run, task.id))) for task in found)
    tasks = tuple(replace(entry, seen=at) if at else entry for entry, at in shown)
    return json_answer(v1.TaskList(tasks=tasks, page=page, more=more))


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


@described(
    Operation(
        "The games of a task: outcome, ending, half moves and opening",
        {200: v1_insights.GameList},
        query={"run": RunId, "task": Count, **PAGING},
    )
)
@runs(Domain.LOOP, "awaits one query")
async def list_games(request: Request) -> Response:
    site = site_of(request)
    query = request.query_params
    viewer = await viewer_name(request, site.bearers)
    with translated_errors():
        run_id = queries.read_run_id(query)
        task_id = parse_integer({"task": "0", **query}, "task", least=0, most=MOST_TASKS)
        page, size = queries.read_page(query)
        await find_run(site, run_id, viewer)
    found = await site.games.rows.list_games(run_id, task_id)
    first = (page - 1) * size
    shown = tuple(
        make_game_entry(number, game)
        for number, game in enumerate(found[first : first + size], first)
    )
    more = len(found) > first + size
    return json_answer(v1_insights.GameList(games=shown, page=page, more=more))


@described(
    Operation(
        "Logs that workers sent, by run",
        {200: v1_insights.LogList},
        query={"run": RunId, **PAGING},
        bearer=True,
    )
)
@runs(Domain.LOOP, "awaits one query")
async def list_logs(request: Request) -> Response:
    site = site_of(request)
    query = request.query_params
    with translated_errors():
        run_id, (page, size) = queries.read_run_id(query), queries.read_page(query)
    await _check_may_read_logs(request, run_id)
    found = await site.logs.rows.of_run(run_id, (page - 1) * size, size + 1)
    shown = tuple(map(_make_log_entry, found[:size]))
    return json_answer(v1_insights.LogList(logs=shown, page=page, more=len(found) > size))


@described(Operation("The text of a log", {200: TEXT}, path={"log_id": Count}, bearer=True))
@runs(Domain.THREAD, "a file is read and unpacked in a thread")
async def get_log(request: Request) -> Response:
    site = site_of(request)
    await require_bearer(request, site.bearers, Scope.READ)
    number = int(request.path_params["log_id"])
    log = await site.logs.rows.get(number) if number < 2**63 else None
    if log is None:
        raise NotFound
    try:
        await _check_may_read_logs(request, log.run)
    except NotFound:
        # Raise another NotFound without details: the caller did not name the run that the original
        # error is about.
        raise NotFound from None
    try:
        return PlainTextResponse(await site.logs.read_text(log))
    except UnknownBlob:
        raise NotFound from None


async def _check_may_read_logs(request: Request, run_id: str) -> None:
    """Raise an error unless the caller is the run's owner or an approver."""
    site = site_of(request)
    bearer = await require_bearer(request, site.bearers, Scope.READ)
    with translated_errors():
        require_owner(await find_run(site, run_id, bearer.user.name), bearer.actor)


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
