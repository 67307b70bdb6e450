"""The start page: the fleet at a glance and the list of runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.farm.fleet import Fleet
from rookery.farm.ports import FinishedRunsQuery, Rebuilding, StateLost
from rookery.farm.privacy import name_of
from rookery.farm.views import RunSpeed
from rookery.model.run import DisplayState, Run
from rookery.model.task import Task
from rookery.pages import figures, words
from rookery.pages.figures import pulse_of
from rookery.pages.page import plays_engine, render_fragment, render_page_in_thread, viewer_of
from rookery.pages.row import Known, RunRow, row_of
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


def next_steps(
    runs: Iterable[Run], address: str, *, signing_up: bool = True
) -> tuple[NextStep, ...]:
    """None where there is nothing yet, and none once an engine of one's own was tested."""
    engines = {side.engine for run in runs for side in run.plan.sides}
    return _steps(address, signing_up) if engines == {BUNDLED} else ()


def _steps(address: str, signing_up: bool) -> tuple[NextStep, ...]:
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


# The start page: the fleet in a strip, runs that wait, play and have ended.

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
class HomeMaterial:
    """All that was loaded; frozen values alone, because a thread makes the page of them."""

    now: datetime
    viewer: Actor | None = None
    unfinished: tuple[Run, ...] = ()
    finished: tuple[Run, ...] = ()
    finished_today: int = 0
    then: Mapping[str, ChartPoint] = field(default_factory=dict)
    pulses: Mapping[str, RunSpeed] = field(default_factory=dict)
    filters: Filters = Filters()
    trouble: str = ""
    role: str = ""
    address: str = ""
    signing_up: bool = True
    waiting_machines: int = 0
    young: Mapping[str, tuple[Task, ...]] = field(default_factory=dict)
    """Tasks at play of runs whose speed is not known yet."""

    def known(self, run: Run) -> Known:
        pulse = self.pulses.get(run.id)
        if pulse is None:
            pulse = pulse_of(run, self.young.get(run.id, ()))
        return Known(run, self.then.get(run.id), pulse)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the strip."""

    name: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run that waits for an approver, and whether this visitor may approve it."""

    row: RunRow
    approvable: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter that can be chosen."""

    word: str
    address: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class HomeView:
    """`trouble` is empty when everything works; `bare` where there is nothing to see yet."""

    trouble: str
    role: str
    address: str
    strip: tuple[Figure, ...]
    waiting: tuple[Waiting, ...]
    playing: tuple[RunRow, ...]
    finished: tuple[RunRow, ...]
    left_off: str
    choices: tuple[Choice, ...]
    removable: tuple[Choice, ...]
    """Filters that are in force, each with where it leads to take it away."""
    earlier: str
    later: str
    live: str
    bare: bool
    steps: tuple[NextStep, ...]


def home_view(material: HomeMaterial) -> HomeView:
    """Costs statistics: called in a thread."""
    filters = material.filters
    wanted = [run for run in material.unfinished if filters.suits(run)]
    waiting = [run for run in wanted if run.display is DisplayState.PENDING]
    playing = sorted((run for run in wanted if run.status.approved), key=_place)
    query = filters.address().removeprefix("/")
    return HomeView(
        trouble=material.trouble,
        role=material.role,
        address=material.address,
        strip=_strip(material),
        waiting=tuple(_waiting(run, material) for run in waiting[:MOST_UNFINISHED]),
        playing=tuple(_rows(playing[:MOST_UNFINISHED], material)),
        finished=tuple(_rows(material.finished, material)),
        left_off=_left_off(len(wanted) - len(waiting[:MOST_UNFINISHED]), len(playing)),
        choices=_choices(filters),
        removable=_removable(filters),
        earlier=_earlier(material),
        later=filters.address(page=filters.page - 1) if filters.page > 1 else "",
        live=f"/live{query}",
        steps=_home_steps(material),
        bare=not (material.unfinished or material.finished or filters != Filters()),
    )


def _home_steps(material: HomeMaterial) -> tuple[NextStep, ...]:
    if material.filters != Filters():
        return ()
    runs = (*material.unfinished, *material.finished)
    return next_steps(runs, material.address, signing_up=material.signing_up)


def _place(run: Run) -> tuple[bool, int, int, str]:
    """Those that play first, the more cores the higher."""
    return run.tally.workers == 0, -run.plan.priority, -run.tally.cores, run.id


def _rows(runs: Iterable[Run], material: HomeMaterial) -> Iterable[RunRow]:
    return (row_of(material.known(run), material.now) for run in runs)


def _waiting(run: Run, material: HomeMaterial) -> Waiting:
    viewer = material.viewer
    may = viewer is not None and viewer.approver and viewer.name != run.plan.owner
    return Waiting(row_of(material.known(run), material.now), may)


def _left_off(shown: int, playing: int) -> str:
    more = max(0, min(shown, playing) - MOST_UNFINISHED)
    return f"and {words.several(more, 'more run')}" if more else ""


def _strip(material: HomeMaterial) -> tuple[Figure, ...]:
    """Over all runs, whatever the filters."""
    runs = material.unfinished
    known = [material.known(run) for run in runs if run.tally.workers]
    rate = sum(
        figures.games_per_minute(one.run, one.then, one.pulse, material.now) for one in known
    )
    nodes = sum(one.pulse.nps for one in known)
    return (
        Figure("cores", words.count(sum(run.tally.cores for run in runs))),
        Figure("workers", words.count(sum(run.tally.workers for run in runs)), _idle(material)),
        Figure("games a minute", words.rate(rate)),
        Figure("speed", words.speed(nodes) if nodes else words.NOTHING),
        Figure("tests finished today", words.count(material.finished_today)),
    )


def _idle(material: HomeMaterial) -> str:
    """A volunteer whose machine has nothing to play sees that it is there."""
    count = material.waiting_machines
    return f"{words.count(count)} waiting" if count else ""


def _choices(filters: Filters) -> tuple[Choice, ...]:
    named = (("all", ""), ("passed", "green"), ("positive", "yellow"), ("long", "ltc"))
    return tuple(
        Choice(word, filters.address(only=value, page=1), filters.only == value)
        for word, value in named
    )


def _removable(filters: Filters) -> tuple[Choice, ...]:
    named = (("owner", f"by {filters.owner}"), ("engine", filters.engine))
    given = {"owner": filters.owner, "engine": filters.engine}
    return tuple(
        Choice(word, filters.address(**{name: "", "page": 1}), chosen=True)
        for name, word in named
        if given[name]
    )


def _earlier(material: HomeMaterial) -> str:
    """A full page is probably not the last one."""
    more = len(material.finished) >= PAGE_SIZE
    return material.filters.address(page=material.filters.page + 1) if more else ""


LONGEST_NAME = 100
MOST_PAGES = 100_000
MOST_YOUNG = 50
KINDS = ("green", "yellow", "ltc")


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def home(request: Request) -> Response:
    return await render_page_in_thread(request, "home.html", home_view, await _load(request))


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def home_live(request: Request) -> Response:
    """What moves on the start page, for its script."""
    return await render_fragment(request, "home_live.html", home_view, await _load(request))


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
    site, now = site_of(request), site_of(request).clock.now()
    trouble = await site.readiness.reason_against()
    address = address_of(request)
    bare = HomeMaterial(now, trouble=trouble, role=_role(site), address=address)
    if trouble:
        return bare
    try:
        return await _filled(site, await viewer_of(request), filters_in(request.query_params), bare)
    except (Rebuilding, StateLost):
        return HomeMaterial(now, trouble="it is taking over", role=_role(site), address=address)


async def _filled(
    site: Site, viewer: Actor | None, filters: Filters, bare: HomeMaterial
) -> HomeMaterial:
    fleet, reads, now = site.fleet, site.reads, bare.now
    privacy = site.privacy
    hidden = privacy.hidden(name_of(viewer))
    seen = [run for run in await fleet.views.active() if not plays_engine(run, hidden)]
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
        pulses=dict(fleet.activity.speeds),
        young=await _young(fleet, unfinished),
        waiting_machines=fleet.activity.waiting_machines,
        signing_up=site.sign_up.is_open,
        filters=filters,
        role=bare.role,
        address=bare.address,
    )


async def _young(fleet: Fleet, unfinished: Sequence[Run]) -> dict[str, tuple[Task, ...]]:
    """The tasks of runs whose speed is worked out within the minute; not of all after a restart."""
    found = [run for run in unfinished if run.tally.workers and run.id not in fleet.activity.speeds]
    return {run.id: await fleet.views.tasks_at_play(run.id) for run in found[:MOST_YOUNG]}


def _query(filters: Filters, hidden: frozenset[str]) -> FinishedRunsQuery:
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


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _role(site: Site) -> str:
    return "Primary" if site.is_primary() else "Secondary"
