"""The tasks of a run: searched, sorted and paged in the database, with the residual of each
worker."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.core.protocol.v1_insights import ResidualEntry
from rookery.core.stats.residuals import Colour, WorkerTest
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.read_values import DIFFERING, TASK_STATES, TaskOrder, TaskPage, TaskQuery
from rookery.server.farm.rules.purge import BadTask
from rookery.server.farm.show.run_row import Tone
from rookery.server.farm.show.run_tables import TASKS_PER_PAGE, describe_task_state
from rookery.server.http.answers import site_of
from rookery.server.http.pages.formatting import (
    Moment,
    format_ago,
    format_count,
    format_decimal,
    format_fixed,
    format_processor,
)
from rookery.server.http.pages.listing import ListAddress, Pager, make_pager, read_page
from rookery.server.http.pages.page import (
    find_run_for,
    redirect_to,
    render_page_in_thread,
    viewer_of,
)
from rookery.server.runs.insights_api import residuals_of
from rookery.server.runs.run.contributions import TONES, describe_losses
from rookery.server.runs.run.heading import RunHeading, make_run_heading

LONGEST_SEARCH = 100
JUDGEMENTS = {
    Colour.GREEN: "like the rest",
    Colour.YELLOW: "differs a little",
    Colour.RED: "differs from the rest",
}
STATE_CHOICES = (
    ("", "all"),
    ("playing", "playing"),
    ("ended", "ended"),
    ("crashes", "with crashes or time losses"),
    ("struck out", "struck out"),
    ("kept apart", "kept apart"),
    (DIFFERING, "differs from the rest"),
)


@dataclass(frozen=True, slots=True)
class RunTasksData:
    """What the list is made from."""

    run: Run
    now: datetime
    address: ListAddress
    page: int
    found: TaskPage
    struck: Mapping[int, BadTask]
    with_games: frozenset[int]
    residuals: Mapping[str, float]
    test: WorkerTest | None


@dataclass(frozen=True, slots=True)
class TaskListRow:
    """A task. A removed one is shown as it was."""

    number: int
    machine: str
    short_name: str
    processor: str
    games: str
    score: str
    pairs: str
    losses: str
    residual: str
    judgement: str
    tone: Tone
    state: str
    reported: Moment
    games_file: str
    """The address of its games, if they are stored here."""


@dataclass(frozen=True, slots=True)
class RunTasksView:
    heading: RunHeading
    rows: tuple[TaskListRow, ...]
    address: ListAddress
    pager: Pager
    total: int
    states: tuple[tuple[str, str], ...]
    test: str


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def tasks_page(request: Request) -> Response:
    site, viewer = site_of(request), await viewer_of(request)
    run = await find_run_for(viewer, request)
    page = read_page(request.query_params)
    test, workers = await residuals_of(request).judge(run)
    query = read_task_query(run.id, request.query_params, page)
    if query.state == DIFFERING:
        query = replace(query, differing=tuple(_list_differing(workers)))
    found = await site.reads.list_tasks(query)
    numbers = [task.id for task in found.tasks]
    data = RunTasksData(
        run=run,
        now=site.clock.now(),
        address=_make_address(run.id, query),
        page=page,
        found=found,
        struck=await site.reads.struck_out(run.id, numbers),
        with_games=await site.games.rows.find_tasks(run.id, numbers),
        residuals={
            each.worker: each.residual for each in workers if isinstance(each.residual, float)
        },
        test=test,
    )
    return await render_page_in_thread(request, "run_tasks.html", make_tasks_view, data)


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


def make_tasks_view(data: RunTasksData) -> RunTasksView:
    return RunTasksView(
        heading=make_run_heading(data.run, data.now, "tasks"),
        rows=tuple(_make_row(data, task) for task in data.found.tasks),
        address=data.address,
        pager=make_pager(data.address, data.page, TASKS_PER_PAGE, data.found.total),
        total=data.found.total,
        states=STATE_CHOICES,
        test=_describe_test(data.test),
    )


def _make_row(data: RunTasksData, task: Task) -> TaskListRow:
    bad = data.struck.get(task.id)
    results, machine = (task if bad is None else bad.task).results, task.machine
    residual, colour = _judge_task(data, task, bad)
    return TaskListRow(
        number=task.id,
        machine=machine.long_name,
        short_name=machine.short_name,
        processor=format_processor(machine.claimed.cpu) or machine.arch,
        games=f"{format_count(results.games)} of {format_count(task.games)}",
        score=f"+{results.wins} -{results.losses} ={results.draws}",
        pairs=" ".join(map(str, results.pentanomial)),
        losses=describe_losses(results),
        residual="" if residual is None else format_fixed(residual),
        judgement=JUDGEMENTS[colour] if residual is not None else "",
        tone=TONES[colour],
        state=describe_task_state(task),
        reported=format_ago(task.reported, data.now),
        games_file=f"/api/pgn/{task.run}-{task.id}.pgn" if task.id in data.with_games else "",
    )


def _judge_task(data: RunTasksData, task: Task, bad: BadTask | None) -> tuple[float | None, Colour]:
    """The residual of the task's worker and its colour. The residual is None if there are too few
    results."""
    if bad is not None:
        return bad.residual, bad.colour
    residual = data.residuals.get(task.machine.long_name)
    if residual is None or data.test is None:
        return None, Colour.GREEN
    return residual, data.test.colour(residual)


def _describe_test(test: WorkerTest | None) -> str:
    if test is None:
        return "Not enough workers have played enough games to compare them."
    chance = "less than 0.001" if test.p_value < 0.001 else format_decimal(test.p_value)
    return (
        f"All workers compared: χ² {format_fixed(test.chi_square)} with {test.degrees} degrees of"
        f" freedom, p {chance}. A residual of {format_fixed(test.yellow_from)} or more is unusual,"
        f" one of {format_fixed(test.red_from)} or more hardly chance."
    )


def routes() -> list[BaseRoute]:
    return [
        Route("/runs/{run_id}/tasks", tasks_page, methods=["GET"]),
        Route("/tests/tasks/{run_id}", old_tasks_address, methods=["GET"]),
    ]
