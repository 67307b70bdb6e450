"""The view of the start page: figures of the fleet, and a row for each run by state."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rookery.core.model.run import DisplayState, Run
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.rules.review import UNREAD, Hint, Severity
from rookery.server.farm.show.run_paces import NO_PACES, RunPaces
from rookery.server.farm.show.run_row import RunRow, make_run_row
from rookery.server.http.pages.filters import Choice
from rookery.server.http.pages.formatting import (
    DASH,
    format_count,
    format_nps,
    format_plural,
    format_rate,
)
from rookery.server.http.pages.listing import ListAddress
from rookery.server.runs.run.statistics import measure_games_per_minute

HERE = "/"
MOST_UNFINISHED = 100
"""The most unfinished tests shown. Filters find the others."""
MOST_HINTS = 3
MOST_ENGINES = 12
LONGEST_NAME = 100
BUNDLED = "Fledgling"


@dataclass(frozen=True, slots=True)
class HomeFilters:
    """Whose runs, and of which engine, a visitor wants to see, as given in the address."""

    user: str = ""
    engine: str = ""

    @property
    def values(self) -> dict[str, str]:
        """The filters as parameters of an address."""
        return {"user": self.user, "engine": self.engine}

    def suits(self, run: Run) -> bool:
        by_user = self.user in ("", run.plan.owner)
        return by_user and self.engine in ("", *(side.engine for side in run.plan.sides))


NO_FILTERS = HomeFilters()


def read_filters(query: Mapping[str, str]) -> HomeFilters:
    """The filters of a query. Old addresses call the user `owner`."""
    user = query.get("user", "") or query.get("owner", "")
    return HomeFilters(
        user=user.strip()[:LONGEST_NAME], engine=query.get("engine", "").strip()[:LONGEST_NAME]
    )


@dataclass(frozen=True, slots=True)
class HomeData:
    """The data for the live part: frozen values only, because a thread renders it."""

    now: datetime
    viewer: Actor | None = None
    unfinished: tuple[Run, ...] = ()
    finished: tuple[Run, ...] = ()
    finished_today: int = 0
    paces: RunPaces = NO_PACES
    filters: HomeFilters = NO_FILTERS
    waiting_machines: int = 0
    hints: Mapping[str, tuple[Hint, ...]] = field(default_factory=dict)
    """Hints for approvers, by pending run."""


@dataclass(frozen=True, slots=True)
class FleetFigure:
    """A figure about the whole fleet, shown at the top of the page."""

    name: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class PendingRun:
    """A run that waits for approval, and whether this visitor may approve it."""

    row: RunRow
    approvable: bool
    hints: tuple[Hint, ...] = ()
    """Warnings for the approver, and whether the sources are still to be read."""
    more_hints: str = ""
    """How many further hints the run's own page has."""


@dataclass(frozen=True, slots=True)
class RunSection:
    """The runs in one state: their number, and those that are shown."""

    rows: tuple[RunRow, ...]
    count: int

    @property
    def left_off(self) -> str:
        more = self.count - len(self.rows)
        return f"and {format_plural(more, 'more test')}" if more else ""


@dataclass(frozen=True, slots=True)
class HomeView:
    """The live part of the start page."""

    fleet: tuple[FleetFigure, ...]
    waiting: tuple[PendingRun, ...]
    waiting_count: int
    waiting_first: bool
    """True for approvers, who have something to do there; others see running tests first."""
    playing: RunSection
    idle: RunSection
    finished: tuple[RunRow, ...]
    finished_today: int
    choices: tuple[Choice, ...]
    """The filters to choose, and the chosen ones."""
    user: str
    without_user: str
    """The filtered user, and the address without that filter."""
    tests: ListAddress
    """The list of finished tests with the same filters."""
    is_empty: bool


def make_home_view(data: HomeData) -> HomeView:
    """The view of the live part. It computes statistics, so call it in a thread."""
    filters = data.filters
    wanted = [run for run in data.unfinished if filters.suits(run)]
    waiting = [run for run in wanted if run.display is DisplayState.PENDING]
    approved = sorted((run for run in wanted if run.status.approved), key=_order_playing)
    return HomeView(
        fleet=_make_fleet_figures(data),
        waiting=tuple(_make_pending_run(run, data) for run in waiting[:MOST_UNFINISHED]),
        waiting_count=len(waiting),
        waiting_first=data.viewer is not None and data.viewer.approver,
        playing=_make_section([run for run in approved if run.tally.workers], data),
        idle=_make_section([run for run in approved if not run.tally.workers], data),
        finished=data.paces.make_rows(data.finished, data.now),
        finished_today=data.finished_today,
        choices=tuple(_list_choices(data)),
        user=filters.user,
        without_user=ListAddress(HERE, filters.values).change(user=""),
        tests=ListAddress("/tests", filters.values),
        is_empty=not (data.unfinished or data.finished) and filters == NO_FILTERS,
    )


def _make_section(found: Sequence[Run], data: HomeData) -> RunSection:
    return RunSection(data.paces.make_rows(found[:MOST_UNFINISHED], data.now), len(found))


def _order_playing(run: Run) -> tuple[int, int, str]:
    """Sort key of runs at play: by priority and cores."""
    return -run.plan.priority, -run.tally.cores, run.id


def _make_pending_run(run: Run, data: HomeData) -> PendingRun:
    viewer = data.viewer
    may = viewer is not None and viewer.approver and viewer.name != run.plan.owner
    found = data.hints.get(run.id, ())
    weighty = [hint for hint in found if hint.severity is not Severity.NOTE]
    unread = (UNREAD,) if UNREAD in found else ()
    row = make_run_row(data.paces.list_run(run), data.now)
    left = len(weighty) - MOST_HINTS
    more = f"and {format_plural(left, 'more hint')}" if left > 0 else ""
    return PendingRun(row, may, (*weighty[:MOST_HINTS], *unread), more)


def _make_fleet_figures(data: HomeData) -> tuple[FleetFigure, ...]:
    """The fleet's figures over all runs, regardless of filters."""
    found = data.unfinished
    known = [data.paces.list_run(run) for run in found if run.tally.workers]
    rate = sum(measure_games_per_minute(one.run, one.then, one.speed, data.now) for one in known)
    # The sum over a part of the fleet would look like the whole.
    whole = all(data.paces.knows(one.run) for one in known)
    nodes = sum(one.speed.nps for one in known) if whole else 0.0
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
    """How many connected machines have nothing to play."""
    count = data.waiting_machines
    return f"{format_count(count)} waiting" if count else ""


def _list_choices(data: HomeData) -> Iterator[Choice]:
    """The filters to offer: all tests, the user's own, and engines by the number of their
    unfinished tests; none if there is no choice. The user's name is not part of them, because many
    users share the rendered page."""
    filters, here = data.filters, ListAddress(HERE, data.filters.values)
    found = Counter(
        engine
        for run in data.unfinished
        if filters.user in ("", run.plan.owner)
        for engine in {side.engine for side in run.plan.sides}
    )
    engines = dict(found.most_common(MOST_ENGINES))
    if filters.engine:
        engines[filters.engine] = found[filters.engine]
    several = len(engines) > 1 or (data.viewer is not None and len(engines) > 0)
    if filters == NO_FILTERS and not several:
        return
    yield Choice("all", HERE, filters == NO_FILTERS)
    if data.viewer is not None and not filters.user:
        yield Choice("mine", here.change(mine=1), chosen=False)
    for engine, count in engines.items():
        address = here.change(engine=engine)
        yield Choice(engine, address, engine == filters.engine, format_count(count))


def is_first_hour(data: HomeData) -> bool:
    """Whether no engine but the bundled one has been tested so far."""
    found = (*data.unfinished, *data.finished)
    engines = {side.engine for run in found for side in run.plan.sides}
    return data.filters == NO_FILTERS and engines <= {BUNDLED}
