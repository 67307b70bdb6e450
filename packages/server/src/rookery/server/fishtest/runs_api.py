"""Runs, tasks and Elo as documents, and the log of actions."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import msgspec
from starlette.datastructures import QueryParams

from rookery.core.model.bounds import RunId
from rookery.core.model.run import Run
from rookery.core.protocol.actions import document_of, parse_action_filter
from rookery.core.protocol.codec import encode
from rookery.core.protocol.user_documents import QuotaDocument, RunDocument, TaskDocument
from rookery.core.protocol.user_queries import (
    PAGE_SIZE,
    FinishedQuery,
    FixedElo,
    LiveElo,
    parse_elo_query,
    parse_finished_query,
    parse_task_name,
)
from rookery.server.engines.privacy import Privacy, name_of
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm import read_values
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.purge import BadTask
from rookery.server.farm.views import NO_SPEED, FleetViews, RunSpeed, UnknownRun
from rookery.server.http.endpoint import LOOP, THREAD, Endpoints, Work
from rookery.server.http.faults import NotFound
from rookery.server.http.turns import SearchPlaces
from rookery.server.identity.bearers import Caller, actor_of
from rookery.server.runs.documents import elo_of_query, live_elo_of, run_document, task_document
from rookery.server.sources.github import SourceAccess

OPEN_TO_ALL = {
    "access-control-allow-origin": "*",
    "access-control-allow-headers": "content-type",
}
Documents = dict[str, RunDocument]
NO_TASK = "There is no such task."

# Answers have no nulls. Numbers that JSON lacks become the nearest ones that it has.
api = Endpoints("/api", encode=encode, documented=False)
open_api = Endpoints("/api", encode=encode, documented=False, headers=OPEN_TO_ALL)


class NoElo(msgspec.Struct, frozen=True):
    """The estimate of a run that is no sequential test."""


# Documents are made and encoded in threads; their data is awaited before.


@api("GET /rate_limit", LOOP, "a few numbers")
async def get_rate_limit(sources: SourceAccess) -> QuotaDocument:
    """What is left of the calls to GitHub."""
    return sources.quota()


@api("GET /active_runs", THREAD, "documents of all unfinished runs are made in a thread")
async def list_active_runs(
    visible: VisibleRuns, fleet: Fleet, privacy: Privacy, caller: Caller | None
) -> Work[Documents]:
    """All unfinished runs."""
    reader = actor_of(caller)
    seen = await visible.list_active(name_of(reader))
    speeds = [fleet.activity.speed(run.id) for run in seen]
    return partial(_make_documents, [privacy.visible_part(reader, run) for run in seen], speeds)


@api("GET /finished_runs", THREAD, "documents of a page of runs are made in a thread")
async def list_finished_runs(
    reads: FleetReads, privacy: Privacy, caller: Caller | None, query: QueryParams
) -> Work[Documents]:
    """A page of the finished runs."""
    reader, wanted = actor_of(caller), _rows(parse_finished_query(query))
    rows = await reads.finished(replace(wanted, hidden=privacy.hidden(name_of(reader))))
    found = [privacy.visible_part(reader, run) for run in rows]
    return partial(_make_documents, found, [NO_SPEED] * len(found))


@open_api("POST /actions", LOOP, "awaits one query; a filter is small")
async def list_actions(
    reads: FleetReads,
    privacy: Privacy,
    places: SearchPlaces,
    caller: Caller | None,
    body: bytes,
) -> list[object]:
    """The actions that a filter in the manner of MongoDB selects."""
    wanted, sight = parse_action_filter(body), privacy.sight(actor_of(caller))
    async with places.enter():
        found = await reads.actions(wanted, sight=sight)
    return [*map(document_of, found)]


@open_api("GET /get_run/{run_id}", THREAD, "the document is made in a thread")
async def get_run(
    visible: VisibleRuns, fleet: Fleet, caller: Caller | None, run_id: RunId
) -> Work[RunDocument]:
    """A run."""
    run = await _find_run(visible, run_id, caller)
    return partial(run_document, run, fleet.activity.speed(run.id), alone=True)


@api("GET /get_task/{run_id}/{task_id}", THREAD, "the document is made in a thread")
async def get_task(
    visible: VisibleRuns,
    reads: FleetReads,
    views: FleetViews,
    caller: Caller | None,
    run_id: RunId,
    task_id: str,
) -> Work[TaskDocument]:
    """A task of a run, or one that was removed."""
    run, name = await _find_run(visible, run_id, caller), parse_task_name(task_id)
    if name.bad:
        bad = await _load_bad_task(reads, run.id, name.number)
        return partial(task_document, bad.task, bad)
    if (task := await views.task(run.id, name.number)) is None:
        raise NotFound(NO_TASK)
    return partial(task_document, task)


@open_api("GET /get_elo/{run_id}", THREAD, "Elo is estimated in a thread")
async def get_elo(
    visible: VisibleRuns, fleet: Fleet, caller: Caller | None, run_id: RunId
) -> Work[RunDocument | NoElo]:
    """A sequential test with its estimate; nothing for other runs."""
    run = await _find_run(visible, run_id, caller)
    return partial(_make_elo, run, fleet.activity.speed(run.id))


@api("GET /calc_elo", THREAD, "Elo is estimated in a thread")
async def calc_elo(query: QueryParams) -> Work[FixedElo | LiveElo]:
    """The estimate for given results."""
    return partial(elo_of_query, parse_elo_query(query))


async def _find_run(visible: VisibleRuns, run_id: str, caller: Caller | None) -> Run:
    try:
        return await visible.find_part(run_id, actor_of(caller))
    except UnknownRun:
        raise NotFound("There is no such run.") from None


async def _load_bad_task(reads: FleetReads, run_id: str, number: int) -> BadTask:
    """The n-th of the tasks that were removed."""
    thrown_out = await reads.bad_tasks(run_id)
    if number >= len(thrown_out):
        raise NotFound(NO_TASK)
    return thrown_out[number]


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


def _make_documents(found: Sequence[Run], speeds: Sequence[RunSpeed]) -> Documents:
    return {run.id: run for run in map(run_document, found, speeds)}


def _make_elo(run: Run, speed: RunSpeed) -> RunDocument | NoElo:
    elo = live_elo_of(run)
    return NoElo() if elo is None else run_document(run, speed, alone=True, elo=elo)
