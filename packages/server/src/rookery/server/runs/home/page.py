"""The start page: the fleet at a glance, and pending, active and finished runs."""

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.run import DisplayState, Run
from rookery.server.engines.privacy import Privacy, name_of
from rookery.server.farm.commits import StateLost
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.primary import Rebuilding
from rookery.server.farm.read_values import FinishedRunsQuery
from rookery.server.farm.reads import FleetReads
from rookery.server.http.answers import address_of
from rookery.server.http.fragments import RenderedPart
from rookery.server.http.pages.listing import ListAddress
from rookery.server.http.pages.page import answer_part, make_frame, redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.rendering import theme_in
from rookery.server.http.session import Session
from rookery.server.http.signatures import Parts
from rookery.server.http.steps import Readiness
from rookery.server.identity.sign_up import SignUp
from rookery.server.runs.hints import HintReader
from rookery.server.runs.home.view import (
    HERE,
    MOST_UNFINISHED,
    HomeData,
    HomeFilters,
    is_first_hour,
    make_home,
    read_filters,
)
from rookery.server.runs.live import LivePages
from rookery.server.show.rights import plays_engine
from rookery.server.show.run_paces import load_paces

FINISHED_SHOWN = 25
PAUSE_SECONDS = 2.0
"""The least time between two versions of the live part that a page receives."""


pages = Pages()
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class Home(Parts):
    """Loads the start page. The live part is rendered once for all who may see the same; the page
    around it for each visitor."""

    request: Request
    session: Session
    clock: Clock
    fleet: Fleet
    hints: HintReader
    live: LivePages
    privacy: Privacy
    readiness: Readiness
    reads: FleetReads
    sign_up: SignUp

    @property
    def acted(self) -> bool:
        """Whether the visitor comes from a form and wants to see its effect."""
        return bool(self.session.data.flashes)

    async def make_page(self, viewer: Actor | None, filters: HomeFilters) -> Page:
        """The page around the live part. `trouble` is empty if everything works."""
        address = address_of(self.request)
        part, trouble = None, await self.readiness.reason_against()
        if not trouble:
            try:
                part = await self.find_part(viewer, filters, newest=False, anew=self.acted)
            except (Rebuilding, StateLost):
                trouble = "it is taking over"
        shown = {
            "trouble": trouble,
            "role": self.fleet.primary.role,
            "address": address,
            "live": ListAddress("/live", filters.values).change(),
            "part": Markup(part.text if part else ""),  # noqa: S704 - rendered by a template of ours
            # The first steps are shown until an engine other than the bundled one is tested.
            "first_hour": part is not None and bool(part.facts),
            "viewer": viewer,
            "signing_up": self.sign_up.is_open,
        }
        return Page("home.html", shown)

    async def find_part(
        self, viewer: Actor | None, filters: HomeFilters, *, newest: bool, anew: bool = False
    ) -> RenderedPart:
        async def find_key() -> Hashable:
            hidden = self.privacy.hidden(name_of(viewer))
            return ("home", filters, hidden, await self._find_audience(viewer, hidden))

        parts, render = self.live.parts, partial(self._render, viewer, filters)
        if anew:
            parts.forget(await find_key())
        find = parts.find_newest if newest else parts.find_recent
        return await find(find_key, self.live.count_changes, render)

    async def _find_audience(self, viewer: Actor | None, hidden: frozenset[str]) -> Hashable:
        """The key of those who share a rendered start page. Visitors share one, and so do users and
        approvers; but users who are concerned with a pending run, and approvers with a pending run
        of their own, get a page of their own."""
        if viewer is None:
            return ""
        waiting = [run for run in await self._list_unfinished(hidden) if not run.status.approved]
        own = any(run.plan.owner == viewer.name for run in waiting)
        inside = any(self.privacy.is_insider(viewer, run) for run in waiting)
        if viewer.approver:
            return viewer.name if own else True
        return viewer.name if inside else False

    async def _list_unfinished(self, hidden: frozenset[str]) -> list[Run]:
        return [run for run in await self.fleet.views.active() if not plays_engine(run, hidden)]

    async def _render(self, viewer: Actor | None, filters: HomeFilters) -> RenderedPart:
        # Computed again, because the request may have waited for its turn.
        data = await self._load(viewer, filters, self.privacy.hidden(name_of(viewer)))
        return await self.live.render(
            Page("home_live.html", data, make=make_home), is_first_hour(data)
        )

    async def _load(
        self, viewer: Actor | None, filters: HomeFilters, hidden: frozenset[str]
    ) -> HomeData:
        reads, now, show = self.reads, self.clock.now(), partial(self.privacy.visible_part, viewer)
        unfinished = tuple(map(show, await self._list_unfinished(hidden)))
        waiting = [run for run in unfinished if run.display is DisplayState.PENDING]
        query = FinishedRunsQuery(
            page_size=FINISHED_SHOWN, owner=filters.user, engine=filters.engine, hidden=hidden
        )
        return HomeData(
            now=now,
            viewer=viewer,
            unfinished=unfinished,
            finished=tuple(map(show, await reads.finished(query))),
            finished_today=await reads.finished_since(_find_midnight(now), hidden),
            paces=await load_paces(self.fleet, reads, unfinished, now),
            waiting_machines=self.fleet.activity.waiting_machines,
            hints=await self.hints.load(viewer, waiting[:MOST_UNFINISHED]),
            filters=filters,
        )


@pages("GET /", "loads on the loop, computed and rendered in a thread")
async def home(request: Request, viewer: Actor | None, page: Home) -> Page | Response:
    """The start page."""
    filters, live = read_filters(request.query_params), page.live
    if request.query_params.get("mine") == "1":
        return redirect_to(_address_mine(viewer, filters))
    if viewer is not None or page.acted:
        return await page.make_page(viewer, filters)

    async def render() -> RenderedPart:
        frame = await make_frame(request)
        return await live.render(await page.make_page(None, filters), frame=frame)

    # Most visitors are not logged in, and those with the same theme get the same page.
    theme = theme_in(request.headers.get("cookie", ""))

    async def find_key() -> Hashable:
        return ("home for strangers", filters, theme, address_of(request))

    return answer_part(request, await live.parts.find_recent(find_key, live.count_changes, render))


def _address_mine(viewer: Actor | None, filters: HomeFilters) -> str:
    """The start page with the visitor's own tests. Without a login the address is the same for
    everybody."""
    here = ListAddress(HERE, {"engine": filters.engine})
    if viewer is None:
        return ListAddress("/login").change(next=here.change(mine=1))
    return here.change(user=viewer.name)


@pages("GET /live", "loads on the loop, computed and rendered in a thread")
async def home_live(request: Request, page: Home) -> Response:
    """The live part of the start page, for its script."""
    filters = read_filters(request.query_params)

    async def find(viewer: Actor | None) -> RenderedPart:
        return await page.find_part(viewer, filters, newest=True)

    return await page.live.answer(request, find, pause=PAUSE_SECONDS)


def _find_midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)
