"""What is left of tasks besides their results: how games ended, and what workers wrote down."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rookery.boundary.domains import Domain, runs
from rookery.core.lifecycle import require_owner
from rookery.protocol import v1
from rookery.protocol.fields import Count, RunId
from rookery.protocol.games import Game
from rookery.protocol.user.queries import whole
from rookery.service.blobs import UnknownBlob
from rookery.service.tokens import Scope
from rookery.service.worker_logs import WorkerLog
from rookery.web.api.desk import ApiDesk, refusals, seen_run
from rookery.web.api.v1 import queries
from rookery.web.api.v1.callers import bearer_of, viewer_of
from rookery.web.api.v1.runs import PAGING
from rookery.web.bodies import json_answer
from rookery.web.faults import NotFound
from rookery.web.openapi import Operation, described

MOST_TASKS = 10_000_000
TEXT = "text/plain; charset=utf-8"


class EvidenceEndpoints:
    """Games are open to whoever may see their run; logs hold paths and names of machines, so that
    only the run's owner and approvers read them."""

    def __init__(self, desk: ApiDesk) -> None:
        self._desk = desk

    @described(
        Operation(
            "The games of a task: outcome, ending, half moves and opening",
            {200: v1.GameList},
            query={"run": RunId, "task": Count, **PAGING},
        )
    )
    @runs(Domain.LOOP, "awaits one query")
    async def games(self, request: Request) -> Response:
        desk, query = self._desk, request.query_params
        viewer = await viewer_of(request, desk.bearers)
        with refusals():
            run_id = queries.run_in(query)
            task_id = whole({"task": "0", **query}, "task", least=0, most=MOST_TASKS)
            page, size = queries.page_in(query)
            await seen_run(desk, run_id, viewer)
        found = await desk.pgns.games(run_id, task_id)
        first = (page - 1) * size
        shown = tuple(
            game_of(number, game) for number, game in enumerate(found[first : first + size], first)
        )
        more = len(found) > first + size
        return json_answer(v1.GameList(games=shown, page=page, more=more))

    @described(
        Operation(
            "Logs that workers sent, by run",
            {200: v1.LogList},
            query={"run": RunId, **PAGING},
            bearer=True,
        )
    )
    @runs(Domain.LOOP, "awaits one query")
    async def logs(self, request: Request) -> Response:
        desk, query = self._desk, request.query_params
        with refusals():
            run_id, (page, size) = queries.run_in(query), queries.page_in(query)
        await self._check(request, run_id)
        found = await desk.logs.rows.of_run(run_id, (page - 1) * size, size + 1)
        shown = tuple(map(_entry, found[:size]))
        return json_answer(v1.LogList(logs=shown, page=page, more=len(found) > size))

    @described(Operation("The text of a log", {200: TEXT}, path={"log_id": Count}, bearer=True))
    @runs(Domain.THREAD, "a file is read and unpacked in a thread")
    async def log(self, request: Request) -> Response:
        await bearer_of(request, self._desk.bearers, Scope.READ)
        number = int(request.path_params["log_id"])
        log = await self._desk.logs.rows.one(number) if number < 2**63 else None
        if log is None:
            raise NotFound
        try:
            await self._check(request, log.run)
        except NotFound:
            # In other words than those about the run, which whoever asks did not name.
            raise NotFound from None
        try:
            return PlainTextResponse(await self._desk.logs.text(log))
        except UnknownBlob:
            raise NotFound from None

    async def _check(self, request: Request, run_id: str) -> None:
        """Only the run's owner and approvers."""
        bearer = await bearer_of(request, self._desk.bearers, Scope.READ)
        with refusals():
            require_owner(await seen_run(self._desk, run_id, bearer.user.name), bearer.actor)


def game_of(number: int, game: Game) -> v1.GameEntry:
    return v1.GameEntry(
        number=number,
        outcome=game.outcome.name.lower(),
        ending=game.ending.name.lower(),
        new_is_white=game.new_is_white,
        plies=game.plies,
        opening=game.opening.hex(),
    )


def _entry(log: WorkerLog) -> v1.LogEntry:
    return v1.LogEntry(
        id=log.id,
        run=log.run,
        task=log.task,
        call=log.call,
        worker=log.worker,
        time=log.at,
        size=log.size,
    )
