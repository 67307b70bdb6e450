"""The change that a run tests: on a page of its own, and on the run's page, whose script loads it
on request."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.boundary.errors import GateFull
from rookery.core.model.run import Run
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.show.run_description import find_diff_address
from rookery.server.http.answers import site_of
from rookery.server.http.pages.page import (
    find_run_for,
    render_fragment,
    render_page_in_thread,
    viewer_of,
)
from rookery.server.sources.diffs import FoundDiff, place_side

MOST_LINES = 5_000
HIDDEN = FoundDiff(
    trouble="only the test's author, team and approvers can see its sources until it is approved"
)
SAME = FoundDiff(trouble="both sides are built from the same commit")
NO_SOURCES = FoundDiff(trouble="a side is not built from sources")
BUSY = FoundDiff(trouble="the server is busy with other diffs; try again in a moment")


@runs(Domain.THREAD, "git is asked in a thread, the lines are rendered in another")
async def diff_page(request: Request) -> Response:
    """The page. With `part` in the query only the diff, for the script of the run's page."""
    site, viewer = site_of(request), await viewer_of(request)
    run = await find_run_for(viewer, request)
    loaded = run, site.clock.now(), await _find_diff(site, run, viewer)
    if request.query_params.get("part"):
        return await render_fragment(request, "run_diff_part.html", show_diff, loaded)
    return await render_page_in_thread(request, "run_diff.html", show_diff, loaded)


async def _find_diff(site: Site, run: Run, viewer: Actor | None) -> FoundDiff:
    """The diff. The rule is the same as for archives: those who may read the sources may read their
    changes."""
    if not site.privacy.may_read_sources(viewer, run):
        return HIDDEN
    granted = site.repositories.list_granted(run.plan.owner)
    new, base = (place_side(side, granted) for side in run.plan.sides)
    if new is None or base is None:
        return NO_SOURCES
    if new.commit == base.commit:
        return SAME
    try:
        return await site.diffs.get(new, base)
    except GateFull:
        return BUSY


def show_diff(loaded: tuple[Run, datetime, FoundDiff]) -> Mapping[str, object]:
    """The values of the page, with the beginning of the diff."""
    run, now, found = loaded
    lines = found.text.splitlines()
    return {
        "run": run,
        "now": now,
        "trouble": found.trouble,
        "address": find_diff_address(run),
        "lines": tuple(mark_lines(lines[:MOST_LINES])),
        "is_cut": len(lines) > MOST_LINES,
    }


def mark_lines(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each line with its kind: added, removed, a position or the header of a file."""
    in_head = False
    for line in lines:
        in_head = (in_head or line.startswith("diff --git ")) and not line.startswith("@@")
        yield _find_kind(line, in_head=in_head), line


def _find_kind(line: str, *, in_head: bool) -> str:
    if in_head:
        return "file" if line.startswith("diff --git ") else "about"
    return {"@": "place", "+": "added", "-": "removed"}.get(line[:1], "same")


def routes() -> list[BaseRoute]:
    return [Route("/runs/{run_id}/diff", diff_page, methods=["GET"])]
