"""What the start page shows: figures of the fleet, and a row for each run by its state."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rookery.farm.views import RunSpeed
from rookery.model.run import DisplayState, Run
from rookery.model.task import Task
from rookery.pages.formatting import DASH, format_count, format_nps, format_plural, format_rate
from rookery.pages.listing import ListAddress
from rookery.pages.run_row import ListedRun, RunRow, make_run_row
from rookery.pages.run_statistics import estimate_speed, measure_games_per_minute
from rookery.rules.answers import ChartPoint
from rookery.rules.lifecycle import Actor
from rookery.rules.review import Hint, Severity

MOST_UNFINISHED = 100
"""More rows than this nobody reads; the filters find the rest."""
MOST_HINTS = 3
LONGEST_NAME = 100
BUNDLED = "Fledgling"


@dataclass(frozen=True, slots=True)
class HomeFilters:
    """Whose runs and of which engine a visitor wants to see, as it stands in the address."""

    user: str = ""
    engine: str = ""

    @property
    def values(self) -> dict[str, str]:
        """As they stand in an address."""
        return {"user": self.user, "engine": self.engine}

    def suits(self, run: Run) -> bool:
        by_user = self.user in ("", run.plan.owner)
        return by_user and self.engine in ("", *(side.engine for side in run.plan.sides))


NO_FILTERS = HomeFilters()


def read_filters(query: Mapping[str, str]) -> HomeFilters:
    """`owner` is what addresses of older pages call the user."""
    user = query.get("user", "") or query.get("owner", "")
    return HomeFilters(
        user=user.strip()[:LONGEST_NAME], engine=query.get("engine", "").strip()[:LONGEST_NAME]
    )


@dataclass(frozen=True, slots=True)
class HomeData:
    """What the moving part is made from. Frozen values only, because a thread makes it."""

    now: datetime
    viewer: Actor | None = None
    unfinished: tuple[Run, ...] = ()
    finished: tuple[Run, ...] = ()
    finished_today: int = 0
    then: Mapping[str, ChartPoint] = field(default_factory=dict)
    speeds: Mapping[str, RunSpeed] = field(default_factory=dict)
    filters: HomeFilters = NO_FILTERS
    waiting_machines: int = 0
    new_tasks: Mapping[str, tuple[Task, ...]] = field(default_factory=dict)
    """Tasks at play of runs whose speed is not known yet."""
    hints: Mapping[str, tuple[Hint, ...]] = field(default_factory=dict)
    """What an approver should know, by run that waits."""

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
    hints: tuple[Hint, ...] = ()
    """What makes an approver look twice."""


@dataclass(frozen=True, slots=True)
class RunSection:
    """The runs in one state: how many there are, and those that are shown."""

    rows: tuple[RunRow, ...]
    count: int

    @property
    def left_off(self) -> str:
        more = self.count - len(self.rows)
        return f"and {format_plural(more, 'more run')}" if more else ""


@dataclass(frozen=True, slots=True)
class FilterLink:
    """A filter in force, with where it leads to take it away."""

    word: str
    address: str


@dataclass(frozen=True, slots=True)
class HomeView:
    """The part of the start page that moves."""

    fleet: tuple[FleetFigure, ...]
    waiting: tuple[PendingRun, ...]
    waiting_count: int
    playing: RunSection
    idle: RunSection
    finished: tuple[RunRow, ...]
    finished_today: int
    removable: tuple[FilterLink, ...]
    tests: ListAddress
    """The list of all finished tests, with the same filters."""
    is_empty: bool


def make_home_view(data: HomeData) -> HomeView:
    """The view of what moves; it computes statistics, so it is called in a thread."""
    filters = data.filters
    wanted = [run for run in data.unfinished if filters.suits(run)]
    waiting = [run for run in wanted if run.display is DisplayState.PENDING]
    approved = sorted((run for run in wanted if run.status.approved), key=_order_playing)
    return HomeView(
        fleet=_make_fleet_figures(data),
        waiting=tuple(_make_pending_run(run, data) for run in waiting[:MOST_UNFINISHED]),
        waiting_count=len(waiting),
        playing=_make_section([run for run in approved if run.tally.workers], data),
        idle=_make_section([run for run in approved if not run.tally.workers], data),
        finished=tuple(_make_rows(data.finished, data)),
        finished_today=data.finished_today,
        removable=_list_filters(filters),
        tests=ListAddress("/tests", filters.values),
        is_empty=not (data.unfinished or data.finished) and filters == NO_FILTERS,
    )


def _make_section(found: Sequence[Run], data: HomeData) -> RunSection:
    return RunSection(tuple(_make_rows(found[:MOST_UNFINISHED], data)), len(found))


def _order_playing(run: Run) -> tuple[int, int, str]:
    """Sorts runs by priority and cores."""
    return -run.plan.priority, -run.tally.cores, run.id


def _make_rows(found: Iterable[Run], data: HomeData) -> Iterable[RunRow]:
    return (make_run_row(data.listed_run(run), data.now) for run in found)


def _make_pending_run(run: Run, data: HomeData) -> PendingRun:
    viewer = data.viewer
    may = viewer is not None and viewer.approver and viewer.name != run.plan.owner
    hints = [hint for hint in data.hints.get(run.id, ()) if hint.severity is not Severity.NOTE]
    return PendingRun(make_run_row(data.listed_run(run), data.now), may, tuple(hints[:MOST_HINTS]))


def _make_fleet_figures(data: HomeData) -> tuple[FleetFigure, ...]:
    """Figures over all runs, whatever the filters."""
    found = data.unfinished
    known = [data.listed_run(run) for run in found if run.tally.workers]
    rate = sum(measure_games_per_minute(one.run, one.then, one.speed, data.now) for one in known)
    nodes = sum(one.speed.nps for one in known)
    return (
        FleetFigure("cores", format_count(sum(run.tally.cores for run in found))),
        FleetFigure(
            "workers",
            format_count(sum(run.tally.workers for run in found)),
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


def _list_filters(filters: HomeFilters) -> tuple[FilterLink, ...]:
    here = ListAddress("/", filters.values)
    named = {"user": f"by {filters.user}", "engine": filters.engine}
    return tuple(
        FilterLink(word, here.change(**{name: ""}))
        for name, word in named.items()
        if filters.values[name]
    )


def is_first_hour(data: HomeData) -> bool:
    """Whether nothing but the bundled engine has been tested yet."""
    found = (*data.unfinished, *data.finished)
    engines = {side.engine for run in found for side in run.plan.sides}
    return data.filters == NO_FILTERS and engines == {BUNDLED}
