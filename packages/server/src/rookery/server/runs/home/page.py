"""The start page: the fleet at a glance, and pending, active and finished runs."""

from collections.abc import Hashable, Mapping, Sequence
from datetime import datetime
from functools import partial

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.run import DisplayState, Run
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.privacy import name_of
from rookery.server.farm.commits import StateLost
from rookery.server.farm.primary import Rebuilding
from rookery.server.farm.read_values import FinishedRunsQuery
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.show.live import answer_live
from rookery.server.farm.show.run_paces import load_paces
from rookery.server.http.answers import address_of, site_of
from rookery.server.http.fragments import RenderedPart
from rookery.server.http.pages.listing import ListAddress
from rookery.server.http.pages.page import (
    answer_part,
    keep,
    load_hints,
    make_frame,
    plays_engine,
    redirect_to,
    render_page,
    render_part,
    viewer_of,
)
from rookery.server.http.rendering import theme_in
from rookery.server.http.scope import session_of
from rookery.server.runs.home.view import (
    HERE,
    MOST_UNFINISHED,
    HomeData,
    HomeFilters,
    is_first_hour,
    make_home,
    read_filters,
)

FINISHED_SHOWN = 25
PAUSE_SECONDS = 2.0
"""The least time between two versions of the live part that a page receives."""


# The endpoints. The live part is rendered once for all who may see the same; the page around it for
# each visitor.


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def home(request: Request) -> Response:
    site, filters = site_of(request), read_filters(request.query_params)
    viewer = await viewer_of(request)
    if request.query_params.get("mine") == "1":
        return redirect_to(_address_mine(viewer, filters))
    if viewer is not None or _acted(request):
        return await render_page(request, "home.html", await _make_page(request, viewer, filters))

    async def render() -> RenderedPart:
        frame, page = await make_frame(request), await _make_page(request, None, filters)
        return await render_part(site, "home.html", keep, page, frame=frame)

    # Most visitors are not logged in, and those with the same theme get the same page.
    theme = theme_in(request.headers.get("cookie", ""))

    async def find_key() -> Hashable:
        return ("home for strangers", filters, theme, address_of(request))

    part = await site.shared_parts.find_recent(find_key, lambda: site.bus.seen, render)
    return answer_part(request, part)


def _address_mine(viewer: Actor | None, filters: HomeFilters) -> str:
    """The start page with the visitor's own tests. Without a login the address is the same for
    everybody."""
    here = ListAddress(HERE, {"engine": filters.engine})
    if viewer is None:
        return ListAddress("/login").change(next=here.change(mine=1))
    return here.change(user=viewer.name)


async def _make_page(
    request: Request, viewer: Actor | None, filters: HomeFilters
) -> Mapping[str, object]:
    """The page around the live part. `trouble` is empty if everything works."""
    site, address = site_of(request), address_of(request)
    part, trouble = None, await site.readiness.reason_against()
    if not trouble:
        try:
            part = await _find_part(site, viewer, filters, newest=False, anew=_acted(request))
        except (Rebuilding, StateLost):
            trouble = "it is taking over"
    return {
        "trouble": trouble,
        "role": site.role,
        "address": address,
        "live": ListAddress("/live", filters.values).change(),
        "part": Markup(part.text if part else ""),  # noqa: S704 - rendered by a template of ours
        # The first steps are shown until an engine other than the bundled one is tested.
        "first_hour": part is not None and bool(part.facts),
        "viewer": viewer,
        "signing_up": site.sign_up.is_open,
    }


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def home_live(request: Request) -> Response:
    """The live part of the start page, for its script."""
    site, filters = site_of(request), read_filters(request.query_params)

    async def find(viewer: Actor | None) -> RenderedPart:
        return await _find_part(site, viewer, filters, newest=True)

    return await answer_live(request, find, pause=PAUSE_SECONDS)


def _acted(request: Request) -> bool:
    """Whether the visitor comes from a form and wants to see its effect."""
    return bool(session_of(request.scope).data.flashes)


async def _find_part(
    site: Site, viewer: Actor | None, filters: HomeFilters, *, newest: bool, anew: bool = False
) -> RenderedPart:
    async def find_key() -> Hashable:
        hidden = site.privacy.hidden(name_of(viewer))
        return ("home", filters, hidden, await _find_audience(site, viewer, hidden))

    parts, render = site.shared_parts, partial(_render, site, viewer, filters)
    if anew:
        parts.forget(await find_key())
    find = parts.find_newest if newest else parts.find_recent
    return await find(find_key, lambda: site.bus.seen, render)


async def _find_audience(site: Site, viewer: Actor | None, hidden: frozenset[str]) -> Hashable:
    """The key of those who share a rendered start page. Visitors share one, and so do users and
    approvers; but users who are concerned with a pending run, and approvers with a pending run of
    their own, get a page of their own."""
    if viewer is None:
        return ""
    active = await site.fleet.views.active()
    waiting = [r for r in active if not (r.status.approved or plays_engine(r, hidden))]
    own = any(run.plan.owner == viewer.name for run in waiting)
    inside = any(site.privacy.is_insider(viewer, run) for run in waiting)
    if viewer.approver:
        return viewer.name if own else True
    return viewer.name if inside else False


async def _list_unfinished(site: Site, hidden: frozenset[str]) -> list[Run]:
    return [run for run in await site.fleet.views.active() if not plays_engine(run, hidden)]


async def _render(site: Site, viewer: Actor | None, filters: HomeFilters) -> RenderedPart:
    # Computed again, because the request may have waited for its turn.
    hidden = site.privacy.hidden(name_of(viewer))
    seen = await _list_unfinished(site, hidden)
    data = await _load(site, viewer, filters, seen, hidden)
    return await render_part(site, "home_live.html", make_home, data, is_first_hour(data))


async def _load(
    site: Site,
    viewer: Actor | None,
    filters: HomeFilters,
    seen: Sequence[Run],
    hidden: frozenset[str],
) -> HomeData:
    reads, now, privacy = site.reads, site.clock.now(), site.privacy
    unfinished = tuple(privacy.visible_part(viewer, run) for run in seen)
    waiting = [run for run in unfinished if run.display is DisplayState.PENDING]
    query = FinishedRunsQuery(
        page_size=FINISHED_SHOWN, owner=filters.user, engine=filters.engine, hidden=hidden
    )
    return HomeData(
        now=now,
        viewer=viewer,
        unfinished=unfinished,
        finished=tuple(privacy.visible_part(viewer, run) for run in await reads.finished(query)),
        finished_today=await reads.finished_since(_find_midnight(now), hidden),
        paces=await load_paces(site.fleet, site.reads, unfinished, now),
        waiting_machines=site.fleet.activity.waiting_machines,
        hints=await load_hints(site, viewer, waiting[:MOST_UNFINISHED]),
        filters=filters,
    )


def _find_midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def routes() -> list[BaseRoute]:
    return [
        Route(HERE, home, methods=["GET"]),
        Route("/live", home_live, methods=["GET"]),
    ]
