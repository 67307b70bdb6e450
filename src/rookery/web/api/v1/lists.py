"""Tasks, the log of actions and the users."""

from collections.abc import Mapping
from datetime import datetime

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.core.results import Results
from rookery.core.run import Run
from rookery.core.task import Task
from rookery.protocol import people, v1
from rookery.protocol.fields import RunId
from rookery.protocol.user.action_filter import All, Compare, Expression, Order
from rookery.service.statistics import Period
from rookery.service.tokens import Scope
from rookery.web.api.desk import ApiDesk, refusals, seen_run, seen_tasks_at_play
from rookery.web.api.v1 import queries
from rookery.web.api.v1.callers import bearer_of, reader_of, viewer_of, visitor_of
from rookery.web.api.v1.runs import PAGING
from rookery.web.api.v1.views import action_of, contributor_of, task_of, user_of
from rookery.web.bodies import json_answer
from rookery.web.openapi import Operation, described

MOST_APART = 1_000
"""Tasks of a run whose results were kept apart, as far back as lists look."""


class ListEndpoints:
    """What is to be seen of everything that is no run."""

    def __init__(self, desk: ApiDesk) -> None:
        self._desk = desk

    @described(
        Operation(
            "The tasks of a run, or those at play in all runs",
            {200: v1.TaskList},
            query={"run": RunId, **PAGING},
        )
    )
    @runs(Domain.THREAD, "a page is shown in a thread, its rows are awaited")
    async def tasks(self, request: Request) -> Response:
        desk, query = self._desk, request.query_params
        viewer = await viewer_of(request, desk.bearers)
        with refusals():
            run_id, (page, size) = queries.run_in(query), queries.page_in(query)
            first, end = (page - 1) * size, page * size
            if run_id:
                run = await seen_run(desk, run_id, viewer)
                found, count = await self._tasks_of(run, first, end)
            else:
                at_play = await seen_tasks_at_play(desk, viewer)
                found, count = at_play[first:end], len(at_play)
        apart, heard = await self._kept_apart(found), await self._last_heard(run_id, found)
        return await desk.threads.cpu(_tasks_answer, found, apart, heard, page, more=count > end)

    async def _last_heard(
        self, run_id: str, tasks: tuple[Task, ...]
    ) -> dict[tuple[str, int], datetime]:
        """When tasks gave a sign of life: those at play in memory, others as was written down."""
        heard: dict[tuple[str, int], datetime] = {}
        if run_id and tasks:
            count = tasks[-1].id - tasks[0].id + 1
            rows = await self._desk.reads.last_seen(run_id, tasks[0].id, count)
            heard = {(run_id, task): at for task, at in rows.items()}
        for task in tasks:
            if task.active and (at := self._desk.fleet.last_heard(task.run, task.id)):
                heard[task.run, task.id] = at
        return heard

    async def _kept_apart(self, tasks: tuple[Task, ...]) -> dict[int, Results]:
        """What these tasks of one run reported faster than games can be played, by task."""
        fast = {task.id for task in tasks if task.too_fast}
        if not fast:
            return {}
        found = await self._desk.reads.tasks_apart(tasks[0].run, MOST_APART)
        return {each.task.id: each.task.results for each in found if each.task.id in fast}

    async def _tasks_of(self, run: Run, first: int, end: int) -> tuple[tuple[Task, ...], int]:
        """A page of a run's tasks and how many it has."""
        count = run.tally.tasks
        if first >= count:
            return (), count
        return await self._desk.fleet.task_page(run.id, first, min(end, count) - first), count

    @described(
        Operation(
            "The log of actions, newest first",
            {200: v1.ActionList},
            query={"action": v1.Name, "actor": v1.Name, "run": RunId, "before": str, **PAGING},
        )
    )
    @runs(Domain.LOOP, "awaits one query")
    async def actions(self, request: Request) -> Response:
        desk, query = self._desk, request.query_params
        sight = desk.privacy.sight(await reader_of(request, desk))
        with refusals():
            _, size = queries.page_in(query)
            found = await desk.reads.actions(_wanted(query), limit=size, sight=sight)
        return json_answer(v1.ActionList(actions=tuple(map(action_of, found))))

    @described(
        Operation(
            "Whose machines gave most to runs that are over, in all or in the last thirty days",
            {200: v1.ContributorList},
            query={"period": Period, **PAGING},
        )
    )
    @runs(Domain.LOOP, "awaits one query")
    async def contributors(self, request: Request) -> Response:
        desk, query = self._desk, request.query_params
        await visitor_of(request, desk.bearers)
        with refusals():
            period = queries.choice(query, "period", Period)
            page, size = queries.page_in(query)
        found = await desk.statistics.page(period, (page - 1) * size, size + 1)
        paces = desk.fleet.user_paces
        shown = tuple(contributor_of(each, paces.get(each.user_name, 0.0)) for each in found[:size])
        more = len(found) > size
        return json_answer(v1.ContributorList(contributors=shown, page=page, more=more))

    @described(Operation("Everybody with an account", {200: people.UserList}, bearer=True))
    @runs(Domain.LOOP, "awaits one query")
    async def users(self, request: Request) -> Response:
        desk = self._desk
        bearer = await bearer_of(request, desk.bearers, Scope.READ, Scope.ADMIN)
        boss = bearer.actor.approver
        known = [user for user in await desk.users.everyone() if boss or not user.pending]
        shown = (user_of(user, to_approver=boss) for user in known)
        return json_answer(people.UserList(users=tuple(shown)))


def _tasks_answer(
    found: tuple[Task, ...],
    apart: Mapping[int, Results],
    heard: Mapping[tuple[str, int], datetime],
    page: int,
    *,
    more: bool,
) -> Response:
    shown = ((task_of(task, apart), heard.get((task.run, task.id))) for task in found)
    tasks = tuple(replace(entry, seen=at) if at else entry for entry, at in shown)
    return json_answer(v1.TaskList(tasks=tasks, page=page, more=more))


def _wanted(query: Mapping[str, str]) -> Expression:
    names = {"action": "action", "actor": "username", "run": "run_id"}
    queries.run_in(query)
    parts: list[Expression] = [
        Compare(field, Order.EQUAL, queries.name_in(query, name))
        for name, field in names.items()
        if query.get(name)
    ]
    before = queries.before_in(query)
    if before is not None:
        parts.append(Compare("time", Order.BELOW, before))
    return All(tuple(parts))
