"""The page of a run, and its live part."""

from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rookery.core.model.presets import find_preset
from rookery.core.model.run import Run
from rookery.core.protocol.actions import Compare, Order
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.privacy import name_of
from rookery.server.farm.read_values import Contribution
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.rules.review import Hint
from rookery.server.farm.show.live import answer_live_run
from rookery.server.farm.show.run_tables import address_task
from rookery.server.farm.show.run_texts import LONG_PRESET, list_next_steps
from rookery.server.http.answers import address_of, site_of
from rookery.server.http.error_table import REFUSALS
from rookery.server.http.pages.page import (
    find_run_for,
    list_rights,
    load_hints,
    plays_engine,
    redirect_to,
    render_fragment,
    render_page_in_thread,
    viewer_of,
)
from rookery.server.runs.run.changes import RefusedChange, describe_change
from rookery.server.runs.run.parts import (
    MOST_ACTIONS,
    LiveRun,
    RecentRun,
    has_change,
    show_live,
    show_recent,
)

MOST_TASKS = 20
MOST_GROUPS = 50
LONGEST_NUMBER = 9
REMEMBERED_SECONDS = 10.0


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def run_page(request: Request) -> Response:
    viewer = await viewer_of(request)
    return await show_run(request, await find_run_for(viewer, request), viewer)


async def show_run(
    request: Request,
    run: Run,
    viewer: Actor | None,
    refused: RefusedChange | None = None,
    status: int = 200,
) -> Response:
    """The whole page. `refused` is a refused change, shown again in its form."""
    site = site_of(request)
    live, recent = await _load_live(site, run, viewer), await _load_recent(site, run)
    moves = {
        "rights": list_rights(viewer, run, live.now),
        "change": describe_change(run, viewer, refused),
        "next_steps": list_next_steps(run, has_long_preset=_has_long_preset(site, run, viewer)),
    }
    rest = {**await _load_head(request, run, viewer), **moves}
    return await render_page_in_thread(
        request, "run.html", _show_whole, (live, recent, rest), status
    )


async def _load_head(request: Request, run: Run, viewer: Actor | None) -> Mapping[str, object]:
    """Load what stands around the parts."""
    site = site_of(request)
    return {
        "address": f"{address_of(request)}/runs/{run.id}",
        "private": site.privacy.is_private(run) or not run.status.approved,
        "earlier": await _load_earlier(site, run, viewer),
        "following": viewer is not None and await site.subscriptions.follows(run.id, viewer.name),
        "has_change": has_change(run),
    }


def _show_whole(parts: tuple[LiveRun, RecentRun, Mapping[str, object]]) -> Mapping[str, object]:
    live, recent, rest = parts
    return {**rest, **show_recent(recent), **show_live(live)}


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def run_live(request: Request) -> Response:
    """The live part of a run's page, for its script."""

    async def load(run: Run, viewer: Actor | None) -> LiveRun:
        return await _load_live(site_of(request), run, viewer)

    return await answer_live_run(request, "run_live.html", show_live, load)


@runs(Domain.THREAD, "awaits four queries; rendered in a thread")
async def run_recent(request: Request) -> Response:
    """Contributors, latest tasks and events, which the page's script requests now and then."""
    run = await find_run_for(await viewer_of(request), request)
    recent = await _load_recent(site_of(request), run)
    return await render_fragment(request, "run_late.html", show_recent, recent)


@runs(Domain.THREAD, "awaits one query; the lines are written in a thread")
async def samples_csv(request: Request) -> Response:
    """The points of the charts, for a spreadsheet."""
    site, viewer = site_of(request), await viewer_of(request)
    run = await find_run_for(viewer, request)
    found = await site.reads.samples(run.id)
    text = await site.threads.cpu(write_csv, found)
    headers = {"content-disposition": f'attachment; filename="{run.id}.csv"'}
    return PlainTextResponse(text, headers=headers, media_type="text/csv")


def write_csv(samples: Sequence[ChartPoint]) -> str:
    """One line per point. It has numbers only, so that no spreadsheet reads a formula."""
    lines = ["time,games,p0,p1,p2,p3,p4,llr,cores,nps"]
    for one in samples:
        pairs = ",".join(map(str, one.pentanomial))
        nps = "" if one.nps is None else f"{one.nps:.0f}"
        lines.append(f"{one.at.isoformat()},{one.games},{pairs},{one.llr:.4f},{one.cores},{nps}")
    return "\n".join(lines) + "\n"


@runs(Domain.LOOP, "names another address")
async def old_address(request: Request) -> Response:
    """Redirect from the official server's address of a run, which workers print. A task number
    leads to its position in the list."""
    run_id, task = str(request.path_params["run_id"]), request.query_params.get("show_task", "")
    known = task.isascii() and task.isdigit() and len(task) < LONGEST_NUMBER
    return redirect_to(address_task(run_id, int(task)) if known else f"/runs/{run_id}")


async def _load_live(site: Site, run: Run, viewer: Actor | None) -> LiveRun:
    """Load the live part: one query for the points and, for the run's people, one for the hints.
    Everything else is in memory."""
    over = run.status.finished
    return LiveRun(
        run=run,
        now=site.clock.now(),
        speed=site.fleet.activity.speed(run.id),
        samples=await site.reads.samples(run.id),
        playing=await site.fleet.views.tasks_at_play((run.id,)),
        diagnosis=None if over else await site.fleet.views.diagnosis(run.id),
        names={} if over else await _load_names(site, viewer),
        hints=await _load_hints(site, run, viewer),
    )


async def _load_contributions(site: Site, run_id: str) -> tuple[Contribution, ...]:
    """The contributions, kept for a moment: a run may have a hundred thousand tasks and many
    viewers."""
    found = site.contributions.get(run_id)
    if found is None:
        found = await site.reads.contributions(run_id, MOST_GROUPS)
        site.contributions.put(run_id, found, REMEMBERED_SECONDS)
    return found


async def _load_names(site: Site, viewer: Actor | None) -> dict[str, str]:
    """The names of the unfinished runs that this person may see."""
    hidden = site.privacy.hidden(name_of(viewer))
    shown = (run for run in await site.fleet.views.active() if not plays_engine(run, hidden))
    return {run.id: run.plan.new.tag for run in shown}


async def _load_recent(site: Site, run: Run) -> RecentRun:
    """Load contributors, the latest tasks and events: four queries, or three if the contributors
    are still kept."""
    reads, first = site.reads, max(0, run.tally.tasks - MOST_TASKS)
    about = Compare("run_id", Order.EQUAL, run.id)
    return RecentRun(
        run=run,
        now=site.clock.now(),
        contributions=await _load_contributions(site, run.id),
        apart=await reads.load_too_fast_tasks(run.id, MOST_TASKS),
        tasks=tuple(reversed(await reads.task_page(run.id, first, MOST_TASKS))),
        actions=await reads.actions(about, limit=MOST_ACTIONS + 1),
    )


async def _load_earlier(site: Site, run: Run, viewer: Actor | None) -> Run | None:
    """The run that this one was made from, if this person may see it."""
    if not run.rescheduled_from:
        return None
    try:
        return await site.visible_runs.find_part(run.rescheduled_from, viewer)
    except REFUSALS:
        return None


def _has_long_preset(site: Site, run: Run, viewer: Actor | None) -> bool:
    record = site.privacy.catalogue(name_of(viewer)).engines.get(run.plan.engine)
    return record is not None and find_preset(record, LONG_PRESET) is not None


async def _load_hints(site: Site, run: Run, viewer: Actor | None) -> tuple[Hint, ...]:
    found = await load_hints(site, viewer, [run])
    return found.get(run.id, ())
