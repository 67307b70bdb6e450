"""The start page: the fleet at a glance and the list of runs."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.core.lifecycle import Actor
from rookery.core.run import Run
from rookery.core.task import Task
from rookery.service.fleet.at_play import tasks_at_play
from rookery.service.fleet.faults import Rebuilding
from rookery.service.fleet.fleet import Fleet
from rookery.service.fleet.ports import FinishedQuery, StateLost
from rookery.service.privacy import name_of
from rookery.web.kit import Kit, kit_of
from rookery.web.ui.page import address_of, made_fragment, made_page
from rookery.web.ui.viewer import plays, viewer_of
from rookery.web.ui.views import figures
from rookery.web.ui.views.home import PAGE_SIZE, Filters, HomeMaterial, home_view

LONGEST_NAME = 100
MOST_PAGES = 100_000
MOST_YOUNG = 50
KINDS = ("green", "yellow", "ltc")


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def home(request: Request) -> Response:
    return await made_page(request, "home.html", home_view, await _load(request))


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def home_live(request: Request) -> Response:
    """What moves on the start page, for its script."""
    return await made_fragment(request, "home_live.html", home_view, await _load(request))


def filters_in(query: Mapping[str, str]) -> Filters:
    """People edit addresses: what makes no sense is left out."""
    only, page = query.get("only", ""), query.get("page", "")
    return Filters(
        owner=query.get("owner", "").strip()[:LONGEST_NAME],
        engine=query.get("engine", "").strip()[:LONGEST_NAME],
        only=only if only in KINDS else "",
        page=int(page) if page.isascii() and page.isdigit() and 1 <= int(page) <= MOST_PAGES else 1,
    )


async def _load(request: Request) -> HomeMaterial:
    kit, now = kit_of(request), kit_of(request).house.clock.now()
    trouble = await kit.readiness.reason_against()
    address = address_of(request)
    bare = HomeMaterial(now, trouble=trouble, role=_role(kit), address=address)
    if trouble:
        return bare
    try:
        return await _filled(kit, await viewer_of(request), filters_in(request.query_params), bare)
    except (Rebuilding, StateLost):
        return HomeMaterial(now, trouble="it is taking over", role=_role(kit), address=address)


async def _filled(
    kit: Kit, viewer: Actor | None, filters: Filters, bare: HomeMaterial
) -> HomeMaterial:
    fleet, reads, now = kit.house.fleet, kit.house.api.reads, bare.now
    privacy = kit.house.api.privacy
    hidden = privacy.hidden(name_of(viewer))
    seen = [run for run in await fleet.active() if not plays(run, hidden)]
    unfinished = tuple(privacy.shown(viewer, run) for run in seen)
    finished = await reads.finished(_query(filters, hidden))
    return HomeMaterial(
        now=now,
        viewer=viewer,
        unfinished=unfinished,
        finished=tuple(privacy.shown(viewer, run) for run in finished),
        finished_today=await reads.finished_since(_midnight(now), hidden),
        then=await reads.samples_at(
            [run.id for run in unfinished if run.tally.workers], now - figures.WINDOW
        ),
        pulses=dict(fleet.pulses),
        young=await _young(fleet, unfinished),
        waiting_machines=fleet.waiting_machines,
        signing_up=kit.house.api.sign_up.is_open,
        filters=filters,
        role=bare.role,
        address=bare.address,
    )


async def _young(fleet: Fleet, unfinished: Sequence[Run]) -> dict[str, tuple[Task, ...]]:
    """The tasks of runs whose speed is worked out within the minute; not of all after a restart."""
    found = [run for run in unfinished if run.tally.workers and run.id not in fleet.pulses]
    return {run.id: await tasks_at_play(fleet, run.id) for run in found[:MOST_YOUNG]}


def _query(filters: Filters, hidden: frozenset[str]) -> FinishedQuery:
    return FinishedQuery(
        page=filters.page,
        page_size=PAGE_SIZE,
        owner=filters.owner,
        engine=filters.engine,
        green_only=filters.only == "green",
        yellow_only=filters.only == "yellow",
        ltc_only=filters.only == "ltc",
        hidden=hidden,
    )


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _role(kit: Kit) -> str:
    return "Primary" if kit.house.is_primary() else "Secondary"
