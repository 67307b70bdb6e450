"""Runs: list, read, and summarise."""

from collections.abc import Iterable

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rookery.core.model.bounds import IdPrefix, RunId
from rookery.core.model.engine import EngineRecord
from rookery.core.model.events import run_name
from rookery.core.model.kinds import SprtTest, SpsaTuning
from rookery.core.model.plan import Side
from rookery.core.model.run import Run
from rookery.core.protocol import v1
from rookery.core.protocol.codec import to_finite
from rookery.core.protocol.user_documents import args_document
from rookery.core.protocol.user_queries import FixedElo
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.engines import records_digest, submitted_record
from rookery.server.engines.privacy import name_of
from rookery.server.farm.read_values import FinishedRunsQuery
from rookery.server.farm.summaries import summary
from rookery.server.farm.views import RunSpeed
from rookery.server.http import queries
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer
from rookery.server.http.callers import find_reader, find_shown_run, translated_errors
from rookery.server.http.openapi import Operation, described
from rookery.server.runs.documents import fixed_elo, live_elo_of

BY_ID = {"run_id": RunId}
PAGING = {"page": v1.Page, "size": v1.PageSize}


@described(
    Operation(
        "List runs, unfinished ones unless asked otherwise",
        {200: v1.RunList},
        query={"state": v1.ListedState, "owner": v1.Name, "prefix": IdPrefix, **PAGING},
    )
)
@runs(Domain.THREAD, "a page is shown in a thread, its rows are awaited")
async def list_runs(request: Request) -> Response:
    site = site_of(request)
    query = request.query_params
    reader = await find_reader(request, site)
    viewer = name_of(reader)
    hidden = site.privacy.hidden(viewer)
    with translated_errors():
        state = queries.read_choice(query, "state", v1.ListedState)
        owner = queries.read_name(query, "owner")
        prefix = queries.read_prefix(query)
        page, size = queries.read_page(query)
        if prefix:
            found, more = await _list_by_prefix(site, prefix, viewer, owner, size), False
        elif state is v1.ListedState.FINISHED:
            wanted = FinishedRunsQuery(page=page, page_size=size, owner=owner, hidden=hidden)
            found = await site.reads.finished(wanted)
            more = len(found) == size
        else:
            active = await site.fleet.views.active()
            seen = [run for run in active if site.privacy.may_see(viewer, run)]
            listed = _listed(seen, state, owner)
            first = (page - 1) * size
            found, more = tuple(listed[first : first + size]), len(listed) > first + size
    shown = tuple(site.privacy.visible_part(reader, run) for run in found)
    return await site.threads.cpu(_list_answer, shown, page, more=more)


async def _list_by_prefix(
    site: Site, prefix: str, viewer: str | None, owner: str, size: int
) -> tuple[Run, ...]:
    """Runs of any state whose id starts with the prefix."""
    ids = await site.reads.ids_from(prefix, size, site.privacy.hidden(viewer))
    found = [await site.fleet.views.run(run_id) for run_id in ids]
    return tuple(run for run in found if run and owner in ("", run.plan.owner))


@described(Operation("Everything about a run", {200: v1.RunDetails}, path=BY_ID))
@runs(Domain.THREAD, "Elo is estimated in a thread")
async def get_run(request: Request) -> Response:
    site = site_of(request)
    run = await _load_run(request)
    speed = site.fleet.activity.speed(run.id)
    return await site.threads.cpu(lambda: json_answer(make_details(run, speed)))


@described(
    Operation(
        "The result as a text to paste",
        {200: "text/plain; charset=utf-8"},
        path=BY_ID,
        query={"style": v1.SummaryStyle},
    )
)
@runs(Domain.THREAD, "Elo is estimated in a thread")
async def summarize_run(request: Request) -> Response:
    site = site_of(request)
    with translated_errors():
        style = queries.read_choice(request.query_params, "style", v1.SummaryStyle)
    run = await _load_run(request)
    return PlainTextResponse(await site.threads.cpu(summary, run, style))


async def _load_run(request: Request) -> Run:
    """A run that the caller may see. Deleted runs are hidden from lists, but not from callers who
    know their id."""
    site = site_of(request)
    reader = await find_reader(request, site)
    return await find_shown_run(site, str(request.path_params["run_id"]), reader)


def _listed(found: Iterable[Run], state: v1.ListedState, owner: str) -> list[Run]:
    """The runs of this state and owner, newest first."""
    chosen = [
        run
        for run in found
        if state.value in ("unfinished", run.display.value) and owner in ("", run.plan.owner)
    ]
    return sorted(chosen, key=lambda run: run.id, reverse=True)


def _list_answer(found: tuple[Run, ...], page: int, *, more: bool) -> Response:
    return json_answer(v1.RunList(runs=tuple(map(make_summary, found)), page=page, more=more))


# Runs as the JSON API shows them: without mail addresses, network addresses and workers' keys.


def make_summary(run: Run) -> v1.RunSummary:
    plan, status, tally = run.plan, run.status, run.tally
    kind = run.kind
    return v1.RunSummary(
        id=run.id,
        name=run_name(run),
        state=run.display,
        deleted=status.deleted,
        flag=status.flag,
        kind=kind.name,
        owner=plan.owner,
        approver=status.approver,
        created=run.created,
        updated=run.updated,
        new_tag=plan.sides[0].tag,
        base_tag=plan.sides[1].tag,
        tc=plan.tc,
        threads=plan.threads,
        priority=plan.priority,
        throughput=plan.throughput,
        num_games=plan.games,
        workers=tally.workers,
        cores=tally.cores,
        results=tally.results,
        llr=to_finite(kind.state.llr) if isinstance(kind, SprtTest) else UNSET,
        decided_by=status.decided_by or UNSET,
        info=plan.info,
    )


def make_details(run: Run, speed: RunSpeed) -> v1.RunDetails:
    """The details of a run. They include statistics, so call it in a thread."""
    tally = run.tally
    return v1.RunDetails(
        **asdict(make_summary(run)),
        failures=run.status.failures,
        committed_games=tally.committed,
        total_games=tally.total,
        tasks=tally.tasks,
        nps=to_finite(speed.nps),
        games_per_minute=to_finite(speed.games_per_minute),
        needs=tuple(map(str, run.demands.needs)),
        args=args_document(run),
        elo=_elo(run),
        live_elo=live_elo_of(run) or UNSET,
        rescheduled_from=run.rescheduled_from or UNSET,
        new_record=_record(run.plan.sides[0]),
        base_record=_record(run.plan.sides[1]),
        records=records_digest(run),
    )


def _record(side: Side) -> EngineRecord | UnsetType:
    return submitted_record(side) or UNSET


def _elo(run: Run) -> FixedElo | UnsetType:
    results = run.tally.results
    if isinstance(run.kind, SpsaTuning) or not results.games:
        return UNSET
    return fixed_elo(results.pentanomial)
