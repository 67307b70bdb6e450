"""The page of a run, and its live part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.presets import find_preset
from rookery.core.model.run import Run
from rookery.core.protocol.actions import Compare, Order
from rookery.server.boundary.domains import Domain
from rookery.server.engines.privacy import Privacy, name_of
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.http.answers import address_of
from rookery.server.http.error_table import REFUSALS
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.signatures import Parts
from rookery.server.notify.outbox import Subscriptions
from rookery.server.runs.hints import HintReader
from rookery.server.runs.live import LivePages
from rookery.server.runs.run.changes import RefusedChange, describe_change
from rookery.server.runs.run.contributions import KeptContributions
from rookery.server.runs.run.parts import (
    MOST_ACTIONS,
    LiveRun,
    RecentRun,
    has_change,
    show_live,
    show_recent,
)
from rookery.server.show.rights import list_rights, plays_engine
from rookery.server.show.run_tables import address_task
from rookery.server.show.run_texts import LONG_PRESET, list_next_steps

MOST_TASKS = 20
LONGEST_NUMBER = 9
ASKS_FLEET = "asks a bounded part of the fleet why the run waits; rendered in a thread"

pages = Pages()
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class RunPage(Parts):
    """Loads the page of a run."""

    request: Request
    clock: Clock
    contributions: KeptContributions
    fleet: Fleet
    hints: HintReader
    privacy: Privacy
    reads: FleetReads
    subscriptions: Subscriptions
    visible: VisibleRuns

    async def show(
        self,
        run: Run,
        viewer: Actor | None,
        refused: RefusedChange | None = None,
        status: int = 200,
    ) -> Page:
        """The whole page. `refused` is a refused change, shown again in its form."""
        live, recent = await self.load_live(run, viewer), await self.load_recent(run)
        moves = {
            "rights": list_rights(viewer, run, live.now),
            "change": describe_change(run, viewer, refused),
            "next_steps": list_next_steps(run, has_long_preset=self._has_long_preset(run, viewer)),
        }
        rest = {**await self._load_head(run, viewer), **moves}
        return Page("run.html", (live, recent, rest), status, make=_show_whole)

    async def _load_head(self, run: Run, viewer: Actor | None) -> Mapping[str, object]:
        """Load what stands around the parts."""
        follows = self.subscriptions.follows
        return {
            "address": f"{address_of(self.request)}/runs/{run.id}",
            "private": self.privacy.is_private(run) or not run.status.approved,
            "earlier": await self._load_earlier(run, viewer),
            "following": viewer is not None and await follows(run.id, viewer.name),
            "has_change": has_change(run),
        }

    async def load_live(self, run: Run, viewer: Actor | None) -> LiveRun:
        """Load the live part: one query for the points and, for the run's people, one for the
        hints. Everything else is in memory."""
        over, views = run.status.finished, self.fleet.views
        return LiveRun(
            run=run,
            now=self.clock.now(),
            speed=self.fleet.activity.speed(run.id),
            samples=await self.reads.samples(run.id),
            playing=await views.tasks_at_play((run.id,)),
            diagnosis=None if over else await views.diagnosis(run.id),
            names={} if over else await self._load_names(viewer),
            hints=(await self.hints.load(viewer, [run])).get(run.id, ()),
        )

    async def _load_names(self, viewer: Actor | None) -> dict[str, str]:
        """The names of the unfinished runs that this person may see."""
        hidden = self.privacy.hidden(name_of(viewer))
        active = await self.fleet.views.active()
        return {run.id: run.plan.new.tag for run in active if not plays_engine(run, hidden)}

    async def load_recent(self, run: Run) -> RecentRun:
        """Load contributors, the latest tasks and events: four queries, or three if the
        contributors are still kept."""
        reads, first = self.reads, max(0, run.tally.tasks - MOST_TASKS)
        about = Compare("run_id", Order.EQUAL, run.id)
        return RecentRun(
            run=run,
            now=self.clock.now(),
            contributions=await self.contributions.load(run.id),
            apart=await reads.load_too_fast_tasks(run.id, MOST_TASKS),
            tasks=tuple(reversed(await reads.task_page(run.id, first, MOST_TASKS))),
            actions=await reads.actions(about, limit=MOST_ACTIONS + 1),
        )

    async def _load_earlier(self, run: Run, viewer: Actor | None) -> Run | None:
        """The run that this one was made from, if this person may see it."""
        if not run.rescheduled_from:
            return None
        try:
            return await self.visible.find_part(run.rescheduled_from, viewer)
        except REFUSALS:
            return None

    def _has_long_preset(self, run: Run, viewer: Actor | None) -> bool:
        record = self.privacy.catalogue(name_of(viewer)).engines.get(run.plan.engine)
        return record is not None and find_preset(record, LONG_PRESET) is not None


def _show_whole(parts: tuple[LiveRun, RecentRun, Mapping[str, object]]) -> Mapping[str, object]:
    live, recent, rest = parts
    return {**rest, **show_recent(recent), **show_live(live)}


@pages("GET /runs/{run_id}", ASKS_FLEET, where=Domain.LOOP_CPU)
async def run_page(run_id: str, viewer: Actor | None, page: RunPage) -> Page:
    """The whole page of a run."""
    return await page.show(await page.visible.find_part(run_id, viewer), viewer)


@pages("GET /runs/{run_id}/live", ASKS_FLEET, where=Domain.LOOP_CPU)
async def run_live(request: Request, run_id: str, live: LivePages, page: RunPage) -> Response:
    """The live part of a run's page, for its script."""

    async def load(run: Run, viewer: Actor | None) -> Page:
        return Page("run_live.html", await page.load_live(run, viewer), make=show_live)

    return await live.answer_run(request, run_id, load)


@pages("GET /runs/{run_id}/recent", "awaits four queries; rendered in a thread")
async def run_recent(run_id: str, viewer: Actor | None, page: RunPage) -> Page:
    """Contributors, latest tasks and events, which the page's script requests now and then."""
    recent = await page.load_recent(await page.visible.find_part(run_id, viewer))
    return Page("run_late.html", recent, make=show_recent, is_part=True)


@pages("GET /runs/{run_id}/samples.csv", "awaits one query; the lines are written in a thread")
async def samples_csv(
    run_id: str, viewer: Actor | None, visible: VisibleRuns, reads: FleetReads, threads: Threads
) -> Response:
    """The points of the charts, for a spreadsheet."""
    run = await visible.find_part(run_id, viewer)
    text = await threads.cpu(write_csv, await reads.samples(run.id))
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


@pages("GET /tests/view/{run_id}", "names another address", where=Domain.LOOP)
async def old_address(run_id: str, show_task: str = "") -> Response:
    """Redirect from the official server's address of a run, which workers print. A task number
    leads to its position in the list."""
    known = show_task.isascii() and show_task.isdigit() and len(show_task) < LONGEST_NUMBER
    return redirect_to(address_task(run_id, int(show_task)) if known else f"/runs/{run_id}")
