"""What the start page shows: figures of the fleet, and runs by state."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rookery.core.model.actor import Actor
from rookery.core.model.run import DisplayState, Run
from rookery.server.farm.rules.review import UNREAD, Hint, Severity
from rookery.server.http.pages.listing import ListAddress
from rookery.server.show.run_paces import NO_PACES, RunPaces
from rookery.server.show.run_row import RunRow, make_run_row
from rookery.server.show.statistics import measure_games_per_minute

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

    @property
    def some(self) -> bool:
        return self != NO_FILTERS

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


def make_home(data: HomeData) -> Mapping[str, object]:
    """What the live part shows. It computes statistics, so call it in a thread."""
    waiting, playing, idle = split_runs(data)
    rate, speed = measure_fleet(data)
    return {
        "data": data,
        "address": ListAddress(HERE, data.filters.values),
        "tests": ListAddress("/tests", data.filters.values),
        "engines": count_engines(data),
        "rate": rate,
        "speed": speed,
        "waiting": [_make_pending_row(run, data) for run in waiting[:MOST_UNFINISHED]],
        "waiting_count": len(waiting),
        "playing": data.paces.make_rows(playing[:MOST_UNFINISHED], data.now),
        "playing_count": len(playing),
        "idle": data.paces.make_rows(idle[:MOST_UNFINISHED], data.now),
        "idle_count": len(idle),
        "finished": data.paces.make_rows(data.finished, data.now),
    }


def split_runs(data: HomeData) -> tuple[list[Run], list[Run], list[Run]]:
    """The unfinished runs that suit the filters: those that wait for approval, those that are
    played, and those that wait for machines."""
    wanted = [run for run in data.unfinished if data.filters.suits(run)]
    approved = sorted((run for run in wanted if run.status.approved), key=_order_playing)
    return (
        [run for run in wanted if run.display is DisplayState.PENDING],
        [run for run in approved if run.tally.workers],
        [run for run in approved if not run.tally.workers],
    )


def _order_playing(run: Run) -> tuple[int, int, str]:
    """Sort key of runs at play: by priority and cores."""
    return -run.plan.priority, -run.tally.cores, run.id


def _make_pending_row(run: Run, data: HomeData) -> tuple[RunRow, bool, Sequence[Hint], int]:
    row = make_run_row(data.paces.list_run(run), data.now)
    return row, may_approve(data.viewer, run), *select_hints(data.hints.get(run.id, ()))


def may_approve(viewer: Actor | None, run: Run) -> bool:
    return viewer is not None and viewer.approver and viewer.name != run.plan.owner


def select_hints(found: Sequence[Hint]) -> tuple[Sequence[Hint], int]:
    """The first warnings for an approver, and whether the sources are still to be read; with the
    number of warnings left to the run's own page."""
    weighty = [hint for hint in found if hint.severity is not Severity.NOTE]
    unread = (UNREAD,) if UNREAD in found else ()
    return (*weighty[:MOST_HINTS], *unread), max(0, len(weighty) - MOST_HINTS)


def measure_fleet(data: HomeData) -> tuple[float, float]:
    """Games a minute and nodes a second of the fleet, over all runs, regardless of filters."""
    known = [data.paces.list_run(run) for run in data.unfinished if run.tally.workers]
    rate = sum(measure_games_per_minute(one.run, one.then, one.speed, data.now) for one in known)
    # The sum over a part of the fleet would look like the whole.
    whole = all(data.paces.knows(one.run) for one in known)
    return rate, sum(one.speed.nps for one in known) if whole else 0.0


def count_engines(data: HomeData) -> Mapping[str, int]:
    """The engines to filter by, with the number of their unfinished tests; none if there is no
    choice."""
    filters = data.filters
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
    return engines if filters.some or several else {}


def is_first_hour(data: HomeData) -> bool:
    """Whether no engine but the bundled one has been tested so far."""
    found = (*data.unfinished, *data.finished)
    engines = {side.engine for run in found for side in run.plan.sides}
    return not data.filters.some and engines <= {BUNDLED}
