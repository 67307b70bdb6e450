"""The tasks of a run: searched, sorted and paged in the database, with the residual of each
worker."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.core.protocol.v1_insights import ResidualEntry
from rookery.core.stats.residuals import Colour, WorkerTest
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.read_values import DIFFERING, TASK_STATES, TaskOrder, TaskQuery
from rookery.server.farm.rules.purge import BadTask
from rookery.server.farm.show.run_tables import TASKS_PER_PAGE
from rookery.server.http.answers import site_of
from rookery.server.http.pages.listing import ListAddress, make_pager, read_page
from rookery.server.http.pages.page import find_run_for, redirect_to, render_page, viewer_of
from rookery.server.runs.insights_api import residuals_of

LONGEST_SEARCH = 100
STATE_CHOICES = (
    ("", "all"),
    ("playing", "playing"),
    ("ended", "ended"),
    ("crashes", "with crashes or time losses"),
    ("struck out", "struck out"),
    ("kept apart", "kept apart"),
    (DIFFERING, "differs from the rest"),
)


Judged = tuple[float | None, Colour]
"""A residual and its colour. The residual is None if there are too few results."""


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def tasks_page(request: Request) -> Response:
    run = await find_run_for(await viewer_of(request), request)
    return await render_page(request, "run_tasks.html", await _load(request, run))


async def _load(request: Request, run: Run) -> Mapping[str, object]:
    site, page = site_of(request), read_page(request.query_params)
    test, workers = await residuals_of(request).judge(run)
    query = read_task_query(run.id, request.query_params, page)
    if query.state == DIFFERING:
        query = replace(query, differing=tuple(_list_differing(workers)))
    found, address = await site.reads.list_tasks(query), _make_address(run.id, query)
    numbers = [task.id for task in found.tasks]
    struck = await site.reads.struck_out(run.id, numbers)
    return {
        "run": run,
        "now": site.clock.now(),
        "tasks": found.tasks,
        # Struck-out tasks are shown as they were.
        "results": {number: bad.task.results for number, bad in struck.items()},
        "judged": judge_tasks(found.tasks, struck, workers, test),
        "with_games": await site.games.rows.find_tasks(run.id, numbers),
        "test": test,
        "address": address,
        "pager": make_pager(address, page, TASKS_PER_PAGE, found.total),
        "states": STATE_CHOICES,
    }


def _list_differing(workers: Iterable[ResidualEntry]) -> Iterator[str]:
    """The workers that deviate, also those that deviate only a little."""
    for each in workers:
        if each.colour in (Colour.YELLOW.value, Colour.RED.value):
            yield each.worker


@runs(Domain.LOOP, "names another address")
async def old_tasks_address(request: Request) -> Response:
    """Redirect from the official server's address of a run's tasks."""
    return redirect_to(f"/runs/{request.path_params['run_id']}/tasks")


def read_task_query(run_id: str, query: Mapping[str, str], page: int) -> TaskQuery:
    """The query for a list of tasks. Invalid values are ignored."""
    sort = query.get("sort", "") or "-task"
    key = sort.removeprefix("-")
    known = key in {order.value for order in TaskOrder}
    state = query.get("state", "")
    return TaskQuery(
        run=run_id,
        text=query.get("text", "").strip()[:LONGEST_SEARCH],
        state=state if state in TASK_STATES else "",
        order=TaskOrder(key) if known else TaskOrder.NUMBER,
        descending=sort.startswith("-") or not known,
        first=(page - 1) * TASKS_PER_PAGE,
        count=TASKS_PER_PAGE,
    )


def _make_address(run_id: str, query: TaskQuery) -> ListAddress:
    sort = f"-{query.order}" if query.descending else str(query.order)
    values = {"text": query.text, "state": query.state, "sort": sort}
    return ListAddress(f"/runs/{run_id}/tasks", values)


def judge_tasks(
    tasks: Iterable[Task],
    struck: Mapping[int, BadTask],
    workers: Iterable[ResidualEntry],
    test: WorkerTest | None,
) -> dict[int, Judged]:
    """How the worker of each task compares with the others; a struck-out task is as it was judged
    then."""
    known = {each.worker: each.residual for each in workers if isinstance(each.residual, float)}
    judged = dict[int, Judged]()
    for task in tasks:
        residual = known.get(task.machine.long_name)
        if bad := struck.get(task.id):
            judged[task.id] = bad.residual, bad.colour
        elif residual is None or test is None:
            judged[task.id] = None, Colour.GREEN
        else:
            judged[task.id] = residual, test.colour(residual)
    return judged


def routes() -> list[BaseRoute]:
    return [
        Route("/runs/{run_id}/tasks", tasks_page, methods=["GET"]),
        Route("/tests/tasks/{run_id}", old_tasks_address, methods=["GET"]),
    ]
