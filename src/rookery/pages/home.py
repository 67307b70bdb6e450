"""The start page: the fleet at a glance and the list of runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.farm.commits import StateLost
from rookery.farm.fleet import Fleet
from rookery.farm.primary import Rebuilding
from rookery.farm.privacy import name_of
from rookery.farm.read_values import FinishedRunsQuery
from rookery.farm.views import RunSpeed
from rookery.model.run import DisplayState, Run
from rookery.model.task import Task
from rookery.pages.formatting import DASH, format_count, format_nps, format_plural, format_rate
from rookery.pages.page import plays_engine, render_fragment, render_page_in_thread, viewer_of
from rookery.pages.run_row import ListedRun, RunRow, make_run_row
from rookery.pages.run_statistics import WINDOW, estimate_speed, measure_games_per_minute
from rookery.rules.answers import ChartPoint
from rookery.rules.lifecycle import Actor
from rookery.web.answers import address_of, site_of
from rookery.web.site import Site

# What to do in the first hour: shown while nothing but the bundled engine has been tested.

BUNDLED = "Fledgling"
FIRST_TEST = "--new ./engine-new --base ./engine-base --preset quick --wait"


@dataclass(frozen=True, slots=True)
class NextStep:
    """A thing to do, with the lines to paste; `link` where a page does it."""

    title: str
    text: str
    lines: tuple[str, ...] = ()
    link: str = ""


def list_next_steps(
    runs: Iterable[Run], address: str, *, signing_up: bool = True
) -> tuple[NextStep, ...]:
    """None where there is nothing yet, and none once an engine of one's own was tested."""
    engines = {side.engine for run in runs for side in run.plan.sides}
    return _write_next_steps(address, signing_up) if engines == {BUNDLED} else ()


def _write_next_steps(address: str, signing_up: bool) -> tuple[NextStep, ...]:
    return (
        NextStep(
            "Add your engine",
            "Two programs are enough for a first test: your new version and the old one.",
            (
                f"./rookery login --server {address} --user admin",
                f"./rookery submit {FIRST_TEST}",
            ),
        ),
        NextStep(
            "Add a machine",
            "One line to paste, with a token made for that machine.",
            link="/machines/add",
        ),
        _invitation(address) if signing_up else _made_account(),
    )


def _invitation(address: str) -> NextStep:
    return NextStep(
        "Invite someone",
        f"They sign up at {address}/signup, and you let them in.",
        ("./rookery user approve NAME",),
    )


def _made_account() -> NextStep:
    return NextStep(
        "Invite someone",
        "An account for each person; machines count for their owner.",
        ("./rookery user add NAME",),
    )


# The start page: figures of the fleet, runs that wait, play and have ended.

PAGE_SIZE = 25
MOST_UNFINISHED = 100
"""More rows than this nobody reads; the filters find the rest."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a visitor wants to see, as it stands in the address."""

    owner: str = ""
    engine: str = ""
    only: str = ""
    page: int = 1

    def address(self, **changes: object) -> str:
        """The start page with these filters, some of them changed."""
        given = {"owner": self.owner, "engine": self.engine, "only": self.only, "page": self.page}
        wanted = {name: value for name, value in {**given, **changes}.items() if value}
        if wanted.get("page") == 1:
            del wanted["page"]
        return f"/?{urlencode(wanted)}" if wanted else "/"

    def suits(self, run: Run) -> bool:
        by_owner = self.owner in ("", run.plan.owner)
        return by_owner and self.engine in ("", *(side.engine for side in run.plan.sides))


@dataclass(frozen=True, slots=True)
class HomeData:
    """What the start page is made from. Frozen values only, because a thread makes the page."""

    now: datetime
    viewer: Actor | None = None
    unfinished: tuple[Run, ...] = ()
    finished: tuple[Run, ...] = ()
    finished_today: int = 0
    then: Mapping[str, ChartPoint] = field(default_factory=dict)
    speeds: Mapping[str, RunSpeed] = field(default_factory=dict)
    filters: Filters = Filters()
    trouble: str = ""
    role: str = ""
    address: str = ""
    signing_up: bool = True
    waiting_machines: int = 0
    new_tasks: Mapping[str, tuple[Task, ...]] = field(default_factory=dict)
    """Tasks at play of runs whose speed is not known yet."""

    def listed_run(self, run: Run) -> ListedRun:
        speed = self.speeds.get(run.id)
        if speed is None:
            speed = estimate_speed(run, self.new_tasks.get(run.id, ()))
        return ListedRun(run, self.then.get(run.id), speed)


@dataclass(frozen=True, slots=True)
class FleetFigure:
    """A figure about the whole fleet, at the top of the page."""

    name: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class PendingRun:
    """A run that waits for an approver, and whether this visitor may approve it."""

    row: RunRow
    approvable: bool


@dataclass(frozen=True, slots=True)
class FilterLink:
    """A filter that can be chosen."""

    word: str
    address: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class HomeView:
    """`trouble` is empty when everything works; `is_empty` where there is nothing to see yet."""

    trouble: str
    role: str
    address: str
    fleet: tuple[FleetFigure, ...]
    waiting: tuple[PendingRun, ...]
    playing: tuple[RunRow, ...]
    finished: tuple[RunRow, ...]
    left_off: str
    choices: tuple[FilterLink, ...]
    removable: tuple[FilterLink, ...]
    """Filters that are in force, each with where it leads to take it away."""
    earlier: str
    later: str
    live: str
    is_empty: bool
    steps: tuple[NextStep, ...]


def make_home_view(data: HomeData) -> HomeView:
    """The view of the start page; it computes statistics, so it is called in a thread."""
    filters = data.filters
    wanted = [run for run in data.unfinished if filters.suits(run)]
    waiting = [run for run in wanted if run.display is DisplayState.PENDING]
    playing = sorted((run for run in wanted if run.status.approved), key=_order_playing)
    query = filters.address().removeprefix("/")
    return HomeView(
        trouble=data.trouble,
        role=data.role,
        address=data.address,
        fleet=_make_fleet_figures(data),
        waiting=tuple(_make_pending_run(run, data) for run in waiting[:MOST_UNFINISHED]),
        playing=tuple(_make_rows(playing[:MOST_UNFINISHED], data)),
        finished=tuple(_make_rows(data.finished, data)),
        left_off=_count_left_off(len(wanted) - len(waiting[:MOST_UNFINISHED]), len(playing)),
        choices=_list_choices(filters),
        removable=_list_filters(filters),
        earlier=_find_earlier_page(data),
        later=filters.address(page=filters.page - 1) if filters.page > 1 else "",
        live=f"/live{query}",
        steps=_list_next_steps(data),
        is_empty=not (data.unfinished or data.finished or filters != Filters()),
    )


def _list_next_steps(data: HomeData) -> tuple[NextStep, ...]:
    if data.filters != Filters():
        return ()
    runs = (*data.unfinished, *data.finished)
    return list_next_steps(runs, data.address, signing_up=data.signing_up)


def _order_playing(run: Run) -> tuple[bool, int, int, str]:
    """Sorts runs with workers first, then by priority and cores."""
    return run.tally.workers == 0, -run.plan.priority, -run.tally.cores, run.id


def _make_rows(runs: Iterable[Run], data: HomeData) -> Iterable[RunRow]:
    return (make_run_row(data.listed_run(run), data.now) for run in runs)


def _make_pending_run(run: Run, data: HomeData) -> PendingRun:
    viewer = data.viewer
    may = viewer is not None and viewer.approver and viewer.name != run.plan.owner
    return PendingRun(make_run_row(data.listed_run(run), data.now), may)


def _count_left_off(shown: int, playing: int) -> str:
    more = max(0, min(shown, playing) - MOST_UNFINISHED)
    return f"and {format_plural(more, 'more run')}" if more else ""


def _make_fleet_figures(data: HomeData) -> tuple[FleetFigure, ...]:
    """Figures over all runs, whatever the filters."""
    runs = data.unfinished
    known = [data.listed_run(run) for run in runs if run.tally.workers]
    rate = sum(measure_games_per_minute(one.run, one.then, one.speed, data.now) for one in known)
    nodes = sum(one.speed.nps for one in known)
    return (
        FleetFigure("cores", format_count(sum(run.tally.cores for run in runs))),
        FleetFigure(
            "workers",
            format_count(sum(run.tally.workers for run in runs)),
            _count_waiting(data),
        ),
        FleetFigure("games a minute", format_rate(rate)),
        FleetFigure("speed", format_nps(nodes) if nodes else DASH),
        FleetFigure("tests finished today", format_count(data.finished_today)),
    )


def _count_waiting(data: HomeData) -> str:
    """How many machines are connected and have nothing to play."""
    count = data.waiting_machines
    return f"{format_count(count)} waiting" if count else ""


def _list_choices(filters: Filters) -> tuple[FilterLink, ...]:
    named = (("all", ""), ("passed", "green"), ("positive", "yellow"), ("long", "ltc"))
    return tuple(
        FilterLink(word, filters.address(only=value, page=1), filters.only == value)
        for word, value in named
    )


def _list_filters(filters: Filters) -> tuple[FilterLink, ...]:
    named = (("owner", f"by {filters.owner}"), ("engine", filters.engine))
    given = {"owner": filters.owner, "engine": filters.engine}
    return tuple(
        FilterLink(word, filters.address(**{name: "", "page": 1}), chosen=True)
        for name, word in named
        if given[name]
    )


def _find_earlier_page(data: HomeData) -> str:
    """The address of the next page; a full page is probably not the last one."""
    more = len(data.finished) >= PAGE_SIZE
    return data.filters.address(page=data.filters.page + 1) if more else ""


LONGEST_NAME = 100
MOST_PAGES = 100_000
MOST_NEW = 50
FINISHED_FILTERS = ("green", "yellow", "ltc")


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def home(request: Request) -> Response:
    return await render_page_in_thread(request, "home.html", make_home_view, await _load(request))


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def home_live(request: Request) -> Response:
    """What moves on the start page, for its script."""
    return await render_fragment(request, "home_live.html", make_home_view, await _load(request))


def read_filters(query: Mapping[str, str]) -> Filters:
    """People edit addresses: what makes no sense is left out."""
    only, page = query.get("only", ""), query.get("page", "")
    return Filters(
        owner=query.get("owner", "").strip()[:LONGEST_NAME],
        engine=query.get("engine", "").strip()[:LONGEST_NAME],
        only=only if only in FINISHED_FILTERS else "",
        page=int(page) if page.isascii() and page.isdigit() and 1 <= int(page) <= MOST_PAGES else 1,
    )


async def _load(request: Request) -> HomeData:
    site, now = site_of(request), site_of(request).clock.now()
    trouble = await site.readiness.reason_against()
    address = address_of(request)
    empty = HomeData(now, trouble=trouble, role=_name_role(site), address=address)
    if trouble:
        return empty
    try:
        return await _load_all(
            site, await viewer_of(request), read_filters(request.query_params), empty
        )
    except (Rebuilding, StateLost):
        return HomeData(now, trouble="it is taking over", role=_name_role(site), address=address)


async def _load_all(
    site: Site, viewer: Actor | None, filters: Filters, empty: HomeData
) -> HomeData:
    fleet, reads, now = site.fleet, site.reads, empty.now
    privacy = site.privacy
    hidden = privacy.hidden(name_of(viewer))
    seen = [run for run in await fleet.views.active() if not plays_engine(run, hidden)]
    unfinished = tuple(privacy.visible_part(viewer, run) for run in seen)
    finished = await reads.finished(_make_query(filters, hidden))
    return HomeData(
        now=now,
        viewer=viewer,
        unfinished=unfinished,
        finished=tuple(privacy.visible_part(viewer, run) for run in finished),
        finished_today=await reads.finished_since(_find_midnight(now), hidden),
        then=await reads.samples_at(
            [run.id for run in unfinished if run.tally.workers], now - WINDOW
        ),
        speeds=dict(fleet.activity.speeds),
        new_tasks=await _load_new_tasks(fleet, unfinished),
        waiting_machines=fleet.activity.waiting_machines,
        signing_up=site.sign_up.is_open,
        filters=filters,
        role=empty.role,
        address=empty.address,
    )


async def _load_new_tasks(fleet: Fleet, unfinished: Sequence[Run]) -> dict[str, tuple[Task, ...]]:
    """The tasks of runs whose speed is worked out within the minute; not of all after a restart."""
    found = [run for run in unfinished if run.tally.workers and run.id not in fleet.activity.speeds]
    return {run.id: await fleet.views.tasks_at_play(run.id) for run in found[:MOST_NEW]}


def _make_query(filters: Filters, hidden: frozenset[str]) -> FinishedRunsQuery:
    return FinishedRunsQuery(
        page=filters.page,
        page_size=PAGE_SIZE,
        owner=filters.owner,
        engine=filters.engine,
        green_only=filters.only == "green",
        yellow_only=filters.only == "yellow",
        ltc_only=filters.only == "ltc",
        hidden=hidden,
    )


def _find_midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _name_role(site: Site) -> str:
    return "Primary" if site.is_primary() else "Secondary"
