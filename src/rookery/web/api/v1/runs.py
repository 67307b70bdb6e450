"""Runs: created, listed, looked at, summed up."""

from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rookery.boundary.domains import Domain, runs
from rookery.core.run import DisplayState, Run
from rookery.protocol import v1
from rookery.protocol.fields import IdPrefix, RunId
from rookery.protocol.submission import SubmittedArgs
from rookery.service.bearers import Bearer
from rookery.service.fleet.chores import find_waiting_machines
from rookery.service.fleet.ports import FinishedQuery
from rookery.service.privacy import name_of
from rookery.service.summaries import summary
from rookery.service.tokens import Scope
from rookery.web.api.desk import ApiDesk, refusals, seen_tasks_at_play, shown_run
from rookery.web.api.v1 import queries
from rookery.web.api.v1.callers import bearer_of, reader_of
from rookery.web.api.v1.previews import preview_of
from rookery.web.api.v1.submissions import Submissions
from rookery.web.api.v1.views import details_of, summary_of
from rookery.web.bodies import json_answer, read_body
from rookery.web.openapi import Operation, described

BY_ID = {"run_id": RunId}
PAGING = {"page": v1.Page, "size": v1.PageSize}


class RunEndpoints:
    """Each endpoint in the order of a run's life."""

    def __init__(self, desk: ApiDesk) -> None:
        self._desk = desk
        self._submissions = Submissions(desk)

    @described(Operation("Create a run", {201: v1.Made}, body=SubmittedArgs, bearer=True))
    @runs(Domain.LOOP, "checks some words; a large tune is read in a thread")
    async def create(self, request: Request) -> Response:
        desk = self._desk
        bearer = await bearer_of(request, desk.bearers, Scope.SUBMIT)
        body = await read_body(request.receive)
        with refusals():
            made = await self._submissions.made(body, bearer)
            run, approver = made.run, self._approver_of(bearer)
            await desk.fleet.submit(run, approver=approver)
        state = DisplayState.PAUSED if approver else DisplayState.PENDING
        return json_answer(v1.Made(id=run.id, state=state, warnings=made.warnings), 201)

    @described(
        Operation(
            "Look at a run without creating it", {200: v1.Preview}, body=SubmittedArgs, bearer=True
        )
    )
    @runs(Domain.THREAD, "lengths are worked out in a thread")
    async def preview(self, request: Request) -> Response:
        desk = self._desk
        bearer = await bearer_of(request, desk.bearers, Scope.SUBMIT)
        body = await read_body(request.receive)
        with refusals():
            made = await self._submissions.previewed(body, bearer)
            playing = await seen_tasks_at_play(desk, bearer.user.name)
            waiting = await find_waiting_machines(desk.fleet)
        machines = (*(task.machine for task in playing), *waiting)
        return await desk.threads.cpu(
            lambda: json_answer(preview_of(made.run, made.warnings, machines))
        )

    @described(
        Operation(
            "List runs, unfinished ones unless asked otherwise",
            {200: v1.RunList},
            query={"state": v1.ListedState, "owner": v1.Name, "prefix": IdPrefix, **PAGING},
        )
    )
    @runs(Domain.THREAD, "a page is shown in a thread, its rows are awaited")
    async def listing(self, request: Request) -> Response:
        desk, query = self._desk, request.query_params
        reader = await reader_of(request, desk)
        viewer = name_of(reader)
        hidden = desk.privacy.hidden(viewer)
        with refusals():
            state = queries.choice(query, "state", v1.ListedState)
            owner = queries.name_in(query, "owner")
            prefix = queries.prefix_in(query)
            page, size = queries.page_in(query)
            if prefix:
                found, more = await self._begun_by(prefix, viewer, owner, size), False
            elif state is v1.ListedState.FINISHED:
                wanted = FinishedQuery(page=page, page_size=size, owner=owner, hidden=hidden)
                found = await desk.reads.finished(wanted)
                more = len(found) == size
            else:
                active = await desk.fleet.active()
                seen = [run for run in active if desk.privacy.sees(viewer, run)]
                listed = _listed(seen, state, owner)
                first = (page - 1) * size
                found, more = tuple(listed[first : first + size]), len(listed) > first + size
        shown = tuple(desk.privacy.shown(reader, run) for run in found)
        return await desk.threads.cpu(_list_answer, shown, page, more=more)

    async def _begun_by(
        self, prefix: str, viewer: str | None, owner: str, size: int
    ) -> tuple[Run, ...]:
        """Runs of any state whose id begins so."""
        desk = self._desk
        ids = await desk.reads.ids_from(prefix, size, desk.privacy.hidden(viewer))
        found = [await desk.fleet.run(run_id) for run_id in ids]
        return tuple(run for run in found if run and owner in ("", run.plan.owner))

    @described(Operation("Everything about a run", {200: v1.RunDetails}, path=BY_ID))
    @runs(Domain.THREAD, "Elo is estimated in a thread")
    async def one(self, request: Request) -> Response:
        desk = self._desk
        run = await self._run(request)
        pulse = desk.fleet.pulse(run.id)
        return await desk.threads.cpu(lambda: json_answer(details_of(run, pulse)))

    @described(
        Operation(
            "The result as people paste it",
            {200: "text/plain; charset=utf-8"},
            path=BY_ID,
            query={"style": v1.HouseStyle},
        )
    )
    @runs(Domain.THREAD, "Elo is estimated in a thread")
    async def summary(self, request: Request) -> Response:
        desk = self._desk
        with refusals():
            style = queries.choice(request.query_params, "style", v1.HouseStyle)
        run = await self._run(request)
        return PlainTextResponse(await desk.threads.cpu(summary, run, style))

    def _approver_of(self, bearer: Bearer) -> str:
        """An approver's own run is approved at once, unless another one has to look at it."""
        own = bearer.actor.approver and not self._desk.cross_approval
        return bearer.user.name if own else ""

    async def _run(self, request: Request) -> Run:
        """Deleted runs are hidden from lists, not from those who know their id."""
        reader = await reader_of(request, self._desk)
        return await shown_run(self._desk, str(request.path_params["run_id"]), reader)


def _listed(found: Iterable[Run], state: v1.ListedState, owner: str) -> list[Run]:
    """Newest first."""
    chosen = [
        run
        for run in found
        if state.value in ("unfinished", run.display.value) and owner in ("", run.plan.owner)
    ]
    return sorted(chosen, key=lambda run: run.id, reverse=True)


def _list_answer(found: tuple[Run, ...], page: int, *, more: bool) -> Response:
    return json_answer(v1.RunList(runs=tuple(map(summary_of, found)), page=page, more=more))
