"""The change that a run tests: on a page of its own, and on the run's page, whose script loads it
on request."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from rookery.core.boundary.errors import GateFull
from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.run import Run
from rookery.server.engines.grants import GrantedRepositories
from rookery.server.engines.privacy import Privacy
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.signatures import Parts
from rookery.server.show.run_description import find_diff_address
from rookery.server.sources.diffs import Diffs, FoundDiff, place_side

MOST_LINES = 5_000
HIDDEN = FoundDiff(
    trouble="only the test's author, team and approvers can see its sources until it is approved"
)
SAME = FoundDiff(trouble="both sides are built from the same commit")
NO_SOURCES = FoundDiff(trouble="a side is not built from sources")
BUSY = FoundDiff(trouble="the server is busy with other diffs; try again in a moment")


pages = Pages()
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class DiffFinder(Parts):
    """Finds the changes that runs test."""

    privacy: Privacy
    repositories: GrantedRepositories
    diffs: Diffs

    async def find(self, run: Run, viewer: Actor | None) -> FoundDiff:
        """The diff. The rule is the same as for archives: those who may read the sources may read
        their changes."""
        if not self.privacy.may_read_sources(viewer, run):
            return HIDDEN
        granted = self.repositories.list_granted(run.plan.owner)
        new, base = (place_side(side, granted) for side in run.plan.sides)
        if new is None or base is None:
            return NO_SOURCES
        if new.commit == base.commit:
            return SAME
        try:
            return await self.diffs.get(new, base)
        except GateFull:
            return BUSY


@pages("GET /runs/{run_id}/diff", "git is asked in a thread, the lines are rendered in another")
async def diff_page(
    run_id: str,
    viewer: Actor | None,
    visible: VisibleRuns,
    clock: Clock,
    finder: DiffFinder,
    part: str = "",
) -> Page:
    """The page. With `part` in the query only the diff, for the script of the run's page."""
    run = await visible.find_part(run_id, viewer)
    loaded = run, clock.now(), await finder.find(run, viewer)
    template = "run_diff_part.html" if part else "run_diff.html"
    return Page(template, loaded, make=show_diff, is_part=bool(part))


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
