"""The list of tests: those that are over, by filters and pages; those under way that match."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.boundary.domains import Domain, runs
from rookery.farm.privacy import name_of
from rookery.farm.read_values import FinishedRunsQuery
from rookery.farm.reads import FleetReads
from rookery.farm.views import NO_SPEED, RunSpeed
from rookery.model.run import DisplayState, Run
from rookery.pages.filters import find_end_of_day, read_day, read_text, read_word
from rookery.pages.formatting import format_count, format_plural
from rookery.pages.listing import ListAddress, Pager, make_open_pager, make_pager, read_page
from rookery.pages.page import plays_engine, render_page_in_thread, viewer_of
from rookery.pages.run_row import ListedRun, RunRow, make_run_row
from rookery.rules.lifecycle import Actor
from rookery.web.answers import site_of
from rookery.web.site import Site

HERE = "/tests"
PAGE_SIZE = 50
MOST_COUNTED = 5000
MOST_OPEN = 50
TOO_LONG = "The search took too long. Narrow it down by days, by user or by engine."
RESULTS = (("", "any"), ("passed", "passed"), ("positive", "failed, yet positive"))


@dataclass(frozen=True, slots=True)
class ListFilters:
    """What a visitor looks for, as it stands in the address; what makes no sense is left out."""

    user: str = ""
    engine: str = ""
    text: str = ""
    result: str = ""
    long: bool = False
    since: datetime | None = None
    until: datetime | None = None
    deleted: bool = False
    page: int = 1

    @property
    def values(self) -> dict[str, str]:
        """As they stand in an address."""
        return {
            "text": self.text,
            "user": self.user,
            "engine": self.engine,
            "result": self.result,
            "long": "1" if self.long else "",
            "from": f"{self.since:%Y-%m-%d}" if self.since else "",
            "to": f"{self.until:%Y-%m-%d}" if self.until else "",
            "deleted": "1" if self.deleted else "",
        }

    @property
    def some(self) -> bool:
        return any(self.values.values())

    def suits_open_run(self, run: Run) -> bool:
        """Whether a run that is not over is looked for; who asks for results, or for nothing in
        particular, looks for none: the start page has them."""
        named = self.text or self.user or self.engine
        if not named or self.result or self.long or self.since or self.until or self.deleted:
            return False
        sides, plan = run.plan.sides, run.plan
        words = " ".join((plan.owner, *(side.tag for side in sides[:2]), plan.info))
        return (
            self.user in ("", plan.owner)
            and self.engine in ("", *(side.engine for side in sides))
            and self.text.lower() in words.lower()
        )

    def make_query(self, hidden: frozenset[str]) -> FinishedRunsQuery:
        return FinishedRunsQuery(
            page=self.page,
            page_size=PAGE_SIZE,
            owner=self.user,
            engine=self.engine,
            green_only=self.result == "passed",
            yellow_only=self.result == "positive",
            ltc_only=self.long,
            since=self.since,
            until=find_end_of_day(self.until) if self.until else None,
            text=self.text,
            deleted=self.deleted,
            hidden=hidden,
        )


def read_filters(query: Mapping[str, str], viewer: Actor | None) -> ListFilters:
    """Deleted runs are found by those who may restore them: approvers, and owners their own."""
    user = read_text(query, "user")
    deleted = query.get("deleted", "") == "1" and viewer is not None
    if deleted and viewer is not None and not viewer.approver:
        user = viewer.name
    return ListFilters(
        user=user,
        engine=read_text(query, "engine"),
        text=read_text(query, "text"),
        result=read_word(query, "result", tuple(dict(RESULTS))),
        long=query.get("long", "") == "1",
        since=read_day(query, "from"),
        until=read_day(query, "to"),
        deleted=deleted,
        page=read_page(query),
    )


@dataclass(frozen=True, slots=True)
class RunListData:
    """What the list is made from."""

    filters: ListFilters
    viewer: Actor | None
    now: datetime
    open_runs: tuple[Run, ...]
    finished: tuple[Run, ...]
    total: int
    engines: tuple[str, ...]
    speeds: Mapping[str, RunSpeed]
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class RunListView:
    """The list of tests."""

    title: str
    summary: str
    filters: ListFilters
    results: tuple[tuple[str, str], ...]
    engines: tuple[tuple[str, str], ...]
    address: ListAddress
    waiting: tuple[RunRow, ...]
    playing: tuple[RunRow, ...]
    finished: tuple[RunRow, ...]
    pager: Pager
    may_see_deleted: bool
    is_own: bool
    trouble: str


def make_list_view(data: RunListData) -> RunListView:
    """Computes statistics, so it is called in a thread."""
    filters, viewer = data.filters, data.viewer
    waiting = [run for run in data.open_runs if run.display is DisplayState.PENDING]
    playing = [run for run in data.open_runs if run.status.approved]
    address = ListAddress(HERE, filters.values)
    return RunListView(
        title=_make_title(filters),
        summary=_summarise(data, len(data.open_runs)),
        filters=filters,
        results=RESULTS,
        engines=(("", "any"), *((name, name) for name in data.engines)),
        address=address,
        waiting=_make_rows(waiting[:MOST_OPEN], data),
        playing=_make_rows(playing[:MOST_OPEN], data),
        finished=_make_rows(data.finished, data),
        pager=_make_pager(address, data),
        may_see_deleted=viewer is not None,
        is_own=viewer is not None and viewer.name == filters.user,
        trouble=data.trouble,
    )


def _make_title(filters: ListFilters) -> str:
    words = "Deleted tests" if filters.deleted else "Tests"
    return f"{words} of {filters.user}" if filters.user else words


def _summarise(data: RunListData, open_runs: int) -> str:
    more = "more than " if data.total >= MOST_COUNTED else ""
    kind = "deleted" if data.filters.deleted else "finished"
    counted = f"{more}{format_count(data.total)} {kind}"
    return f"{counted}, {format_plural(open_runs, 'test')} under way" if open_runs else counted


def _make_pager(address: ListAddress, data: RunListData) -> Pager:
    page = data.filters.page
    if data.total >= MOST_COUNTED:
        return make_open_pager(address, page, more=len(data.finished) == PAGE_SIZE)
    return make_pager(address, page, PAGE_SIZE, data.total)


def _make_rows(found: Sequence[Run], data: RunListData) -> tuple[RunRow, ...]:
    listed = (ListedRun(run, None, data.speeds.get(run.id, NO_SPEED)) for run in found)
    return tuple(make_run_row(one, data.now) for one in listed)


@runs(Domain.THREAD, "awaits two queries; the page is computed and rendered in a thread")
async def list_tests(request: Request) -> Response:
    viewer = await viewer_of(request)
    filters = read_filters(request.query_params, viewer)
    data = await _load(site_of(request), viewer, filters)
    return await render_page_in_thread(request, "tests.html", make_list_view, data)


async def _load(site: Site, viewer: Actor | None, filters: ListFilters) -> RunListData:
    privacy, reads = site.privacy, site.reads
    hidden = privacy.hidden(name_of(viewer))
    query = filters.make_query(hidden)
    finished, total, trouble = await _load_finished(reads, query)
    open_runs = []
    if filters.page == 1:
        for run in await site.fleet.views.active():
            # What somebody may not see is not found either.
            shown = privacy.visible_part(viewer, run)
            if not plays_engine(run, hidden) and filters.suits_open_run(shown):
                open_runs.append(shown)
    return RunListData(
        filters,
        viewer,
        site.clock.now(),
        tuple(open_runs),
        tuple(privacy.visible_part(viewer, run) for run in finished),
        total,
        tuple(sorted(privacy.catalogue(name_of(viewer)).engines)),
        dict(site.fleet.activity.speeds),
        trouble,
    )


async def _load_finished(
    reads: FleetReads, query: FinishedRunsQuery
) -> tuple[tuple[Run, ...], int, str]:
    """A page of them, how many there are, and what to say where that took too long."""
    try:
        return await reads.finished(query), await reads.count_finished(query, MOST_COUNTED), ""
    except TimeoutError:
        return (), 0, TOO_LONG


def routes() -> list[BaseRoute]:
    return [Route(HERE, list_tests, methods=["GET"])]
