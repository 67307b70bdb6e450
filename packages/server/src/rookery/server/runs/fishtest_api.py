"""Runs, tasks and Elo as documents, and the log of actions."""

from collections.abc import Sequence
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.core.protocol.actions import document_of, parse_action_filter
from rookery.core.protocol.codec import encode
from rookery.core.protocol.user_queries import (
    PAGE_SIZE,
    FinishedQuery,
    parse_elo_query,
    parse_finished_query,
    parse_task_name,
)
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.privacy import name_of
from rookery.server.farm import read_values
from rookery.server.farm.rules.purge import BadTask
from rookery.server.farm.views import NO_SPEED, RunSpeed
from rookery.server.files import fishtest_api as files
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import read_body
from rookery.server.http.callers import find_reader, translated_errors
from rookery.server.http.faults import NotFound
from rookery.server.http.scope import SOURCES_PREFIX
from rookery.server.runs.documents import elo_of_query, live_elo_of, run_document, task_document

OPEN_TO_ALL = {
    "access-control-allow-origin": "*",
    "access-control-allow-headers": "content-type",
}
JSON = "application/json"


# Documents are made and encoded in threads; their data is awaited before.


@runs(Domain.LOOP, "a few numbers")
async def get_rate_limit(_request: Request) -> Response:
    site = site_of(_request)
    return _answer(site.github_quota())


@runs(Domain.THREAD, "documents of all unfinished runs are made in a thread")
async def list_active_runs(request: Request) -> Response:
    site = site_of(request)
    reader = await find_reader(request, site)
    seen = [
        run for run in await site.fleet.views.active() if site.privacy.may_see(name_of(reader), run)
    ]
    found = [site.privacy.visible_part(reader, run) for run in seen]
    speeds = [site.fleet.activity.speed(run.id) for run in found]
    return await site.threads.cpu(_listed_answer, found, speeds)


@runs(Domain.THREAD, "documents of a page of runs are made in a thread")
async def list_finished_runs(request: Request) -> Response:
    site = site_of(request)
    reader = await find_reader(request, site)
    hidden = site.privacy.hidden(name_of(reader))
    with translated_errors():
        query = parse_finished_query(request.query_params)
    rows = await site.reads.finished(replace(_rows(query), hidden=hidden))
    found = [site.privacy.visible_part(reader, run) for run in rows]
    return await site.threads.cpu(_listed_answer, found, [NO_SPEED] * len(found))


@runs(Domain.LOOP, "awaits one query; a filter is small")
async def list_actions(request: Request) -> Response:
    site = site_of(request)
    sight = site.privacy.sight(await find_reader(request, site))
    body = await read_body(request.receive)
    with translated_errors():
        wanted = parse_action_filter(body)
    async with site.search_places.enter():
        found = await site.reads.actions(wanted, sight=sight)
    return _answer([*map(document_of, found)], OPEN_TO_ALL)


@runs(Domain.THREAD, "the document is made in a thread")
async def get_run(request: Request) -> Response:
    site = site_of(request)
    run, speed = await _load_run(request)
    return await site.threads.cpu(
        lambda: _answer(run_document(run, speed, alone=True), OPEN_TO_ALL)
    )


@runs(Domain.THREAD, "the document is made in a thread")
async def get_task(request: Request) -> Response:
    site = site_of(request)
    run, _ = await _load_run(request)
    with translated_errors():
        name = parse_task_name(request.path_params["task_id"])
    task, bad = await _load_task(site, run.id, name.number, bad=name.bad)
    return await site.threads.cpu(lambda: _answer(task_document(task, bad)))


@runs(Domain.THREAD, "Elo is estimated in a thread")
async def get_elo(request: Request) -> Response:
    site = site_of(request)
    run, speed = await _load_run(request)
    return await site.threads.cpu(_elo_answer, run, speed)


@runs(Domain.THREAD, "Elo is estimated in a thread")
async def calc_elo(request: Request) -> Response:
    site = site_of(request)
    with translated_errors():
        query = parse_elo_query(request.query_params)
    return await site.threads.cpu(lambda: _answer(elo_of_query(query)))


async def _load_run(request: Request) -> tuple[Run, RunSpeed]:
    site = site_of(request)
    reader = await find_reader(request, site)
    run = await site.fleet.views.run(request.path_params["run_id"])
    if run is None or not site.privacy.may_see(name_of(reader), run):
        raise NotFound("There is no such run.")
    return site.privacy.visible_part(reader, run), site.fleet.activity.speed(run.id)


async def _load_task(
    site: Site, run_id: str, number: int, *, bad: bool
) -> tuple[Task, BadTask | None]:
    """A task by its number, or with `bad` the n-th of those that were removed."""
    if bad:
        thrown_out = await site.reads.bad_tasks(run_id)
        if number < len(thrown_out):
            return thrown_out[number].task, thrown_out[number]
    elif task := await site.fleet.views.task(run_id, number):
        return task, None
    raise NotFound("There is no such task.")


def _rows(query: FinishedQuery) -> read_values.FinishedRunsQuery:
    return read_values.FinishedRunsQuery(
        page=query.page,
        page_size=PAGE_SIZE,
        owner=query.username or "",
        green_only=query.success_only,
        yellow_only=query.yellow_only,
        ltc_only=query.ltc_only,
        since=query.since,
    )


def _listed_answer(found: Sequence[Run], speeds: Sequence[RunSpeed]) -> Response:
    documents = map(run_document, found, speeds)
    return _answer({run.id: run for run in documents})


def _elo_answer(run: Run, speed: RunSpeed) -> Response:
    elo = live_elo_of(run)
    if elo is None:
        return Response(b"{}", media_type=JSON, headers=OPEN_TO_ALL)
    return _answer(run_document(run, speed, alone=True, elo=elo), OPEN_TO_ALL)


def _answer(value: object, headers: dict[str, str] | None = None) -> Response:
    """An answer without nulls. Numbers that JSON lacks become the nearest ones that it has."""
    return Response(encode(value), headers=headers, media_type=JSON)


# The addresses of the user API.


def user_routes() -> list[BaseRoute]:
    return [
        Route("/api/rate_limit", get_rate_limit, methods=["GET"]),
        Route("/api/active_runs", list_active_runs, methods=["GET"]),
        Route("/api/finished_runs", list_finished_runs, methods=["GET"]),
        Route("/api/actions", list_actions, methods=["POST"]),
        Route("/api/get_run/{run_id}", get_run, methods=["GET"]),
        Route("/api/get_task/{run_id}/{task_id}", get_task, methods=["GET"]),
        Route("/api/get_elo/{run_id}", get_elo, methods=["GET"]),
        Route("/api/calc_elo", calc_elo, methods=["GET"]),
        Route("/api/pgn/{name}", files.get_pgn, methods=["GET"]),
        Route("/api/run_pgns/{name}", files.get_run_pgns, methods=["GET"]),
        Route("/api/nn/{name}", files.get_net, methods=["GET"]),
        Route("/api/book/{name}", files.get_book, methods=["GET"]),
        Route(f"{SOURCES_PREFIX}{{name}}/zipball/{{sha}}", files.get_archive, methods=["GET"]),
        Route("/api/binary/{sha256}", files.get_binary, methods=["GET"]),
    ]
