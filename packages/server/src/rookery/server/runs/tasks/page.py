"""The tasks of a run: searched, sorted and paged in the database, with the residual of each
worker."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from starlette.datastructures import QueryParams
from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.core.protocol.v1_insights import ResidualEntry
from rookery.core.stats.residuals import Colour, WorkerTest
from rookery.server.boundary.domains import Domain
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.read_values import DIFFERING, TASK_STATES, TaskOrder, TaskQuery
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.purge import BadTask
from rookery.server.files.games import GameStore
from rookery.server.http.pages.listing import ListAddress, make_pager, read_page
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.signatures import Parts
from rookery.server.runs.insights_api import Residuals
from rookery.server.show.run_tables import TASKS_PER_PAGE

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


pages = Pages()
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class TaskList(Parts):
    """Loads the list of a run's tasks."""

    clock: Clock
    reads: FleetReads
    residuals: Residuals
    games: GameStore

    async def load(self, run: Run, query: TaskQuery, page: int) -> Mapping[str, object]:
        test, workers = await self.residuals.judge(run)
        if query.state == DIFFERING:
            query = replace(query, differing=tuple(_list_differing(workers)))
        found = await self.reads.list_tasks(query)
        numbers = [task.id for task in found.tasks]
        struck = await self.reads.struck_out(run.id, numbers)
        address = _make_address(run.id, query)
        return {
            "run": run,
            "now": self.clock.now(),
            "tasks": found.tasks,
            # Struck-out tasks are shown as they were.
            "results": {number: bad.task.results for number, bad in struck.items()},
            "judged": judge_tasks(found.tasks, struck, workers, test),
            "with_games": await self.games.rows.find_tasks(run.id, numbers),
            "test": test,
            "address": address,
            "pager": make_pager(address, page, TASKS_PER_PAGE, found.total),
            "states": STATE_CHOICES,
        }


@pages("GET /runs/{run_id}/tasks", "loads on the loop, computed and rendered in a thread")
async def tasks_page(
    run_id: str, viewer: Actor | None, visible: VisibleRuns, listed: TaskList, query: QueryParams
) -> Page:
    """The tasks of a run."""
    run, page = await visible.find_part(run_id, viewer), read_page(query)
    return Page(
        "run_tasks.html", await listed.load(run, read_task_query(run.id, query, page), page)
    )


def _list_differing(workers: Iterable[ResidualEntry]) -> Iterator[str]:
    """The workers that deviate, also those that deviate only a little."""
    for each in workers:
        if each.colour in (Colour.YELLOW.value, Colour.RED.value):
            yield each.worker


@pages("GET /tests/tasks/{run_id}", "names another address", where=Domain.LOOP)
async def old_tasks_address(run_id: str) -> Response:
    """Redirect from the official server's address of a run's tasks."""
    return redirect_to(f"/runs/{run_id}/tasks")


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
