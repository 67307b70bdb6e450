"""The list of tests: finished ones by filters and pages, and matching unfinished ones."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.run import DisplayState, Run
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.privacy import name_of
from rookery.server.farm.read_values import FinishedRunsQuery, may_begin_commit
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.show.live import answer_live_list
from rookery.server.farm.show.run_paces import NO_PACES, RunPaces, load_paces
from rookery.server.farm.show.run_row import RunRow
from rookery.server.farm.views import UnknownRun
from rookery.server.http.answers import site_of
from rookery.server.http.faults import SearchTooSlow
from rookery.server.http.pages.filters import (
    find_end_of_day,
    read_day,
    read_search,
    read_text,
    read_word,
)
from rookery.server.http.pages.formatting import format_count, format_plural
from rookery.server.http.pages.listing import (
    ListAddress,
    Pager,
    make_open_pager,
    make_pager,
    read_page,
)
from rookery.server.http.pages.page import (
    plays_engine,
    redirect_to,
    render_page_in_thread,
    viewer_of,
)

HERE = "/tests"
LIVE = "/tests/live"
PAGE_SIZE = 50
MOST_COUNTED = 5000
MOST_OPEN = 50
PAUSE_SECONDS = 2.0
"""The least time between two versions of the unfinished tests that a page receives."""
RUN_ID = re.compile(r"(?<![0-9a-z])[0-9a-f]{24}(?![0-9a-z])", re.ASCII)
TOO_LONG = "The search took too long. Narrow it down by date, user or engine."
RESULTS = (("", "any"), ("passed", "passed"), ("positive", "failed, yet positive"))


@dataclass(frozen=True, slots=True)
class ListFilters:
    """What a visitor searches for, as given in the address. Invalid values are ignored."""

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
        """The filters as parameters of an address."""
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

    @property
    def seeks_open_runs(self) -> bool:
        """Whether to search unfinished runs too. Not if a result or nothing in particular is
        searched for: the start page has those runs."""
        named = self.text or self.user or self.engine
        over = self.result or self.long or self.since or self.until or self.deleted
        return bool(named) and not over and self.page == 1

    def suits_open_run(self, run: Run) -> bool:
        if not self.seeks_open_runs:
            return False
        plan, engines = run.plan, [side.engine for side in run.plan.sides]
        return (
            self.user in ("", plan.owner)
            and self.engine in ("", *engines)
            and _mentions(run, self.text.lower())
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


def _mentions(run: Run, text: str) -> bool:
    """Whether a run contains the text, by the same rule as in the database search for finished
    runs."""
    sides, plan = run.plan.sides, run.plan
    names = (name for side in sides for name in (side.engine, side.tag))
    if text in " ".join((plan.owner, *names, plan.info)).lower():
        return True
    return may_begin_commit(text) and any(side.commit.startswith(text) for side in sides)


def read_filters(query: Mapping[str, str], viewer: Actor | None) -> ListFilters:
    """The filters of a query. Only approvers can search for all deleted runs, and owners for their
    own."""
    user = read_text(query, "user")
    deleted = query.get("deleted", "") == "1" and viewer is not None
    if deleted and viewer is not None and not viewer.approver:
        user = viewer.name
    return ListFilters(
        user=user,
        engine=read_text(query, "engine"),
        text=read_search(query),
        result=read_word(query, "result", tuple(dict(RESULTS))),
        long=query.get("long", "") == "1",
        since=read_day(query, "from"),
        until=read_day(query, "to"),
        deleted=deleted,
        page=read_page(query),
    )


# The unfinished tests, which are updated live.


@dataclass(frozen=True, slots=True)
class OpenRunsData:
    """The data for the live part."""

    now: datetime
    runs: tuple[Run, ...]
    paces: RunPaces


@dataclass(frozen=True, slots=True)
class OpenRunsView:
    waiting: tuple[RunRow, ...]
    playing: tuple[RunRow, ...]


def make_open_view(data: OpenRunsData) -> OpenRunsView:
    """The view of the live part. It computes statistics, so call it in a thread."""
    waiting = [run for run in data.runs if run.display is DisplayState.PENDING]
    playing = [run for run in data.runs if run.status.approved]
    make = data.paces.make_rows
    return OpenRunsView(make(waiting[:MOST_OPEN], data.now), make(playing[:MOST_OPEN], data.now))


async def _load_open(site: Site, viewer: Actor | None, filters: ListFilters) -> OpenRunsData:
    now, hidden = site.clock.now(), site.privacy.hidden(name_of(viewer))
    found = []
    for run in await site.fleet.views.active() if filters.seeks_open_runs else ():
        # Only what the viewer may see can be found.
        shown = site.privacy.visible_part(viewer, run)
        if not plays_engine(run, hidden) and filters.suits_open_run(shown):
            found.append(shown)
    return OpenRunsData(now, tuple(found), await load_paces(site, found, now))


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def tests_live(request: Request) -> Response:
    """The rows of unfinished tests, for the page's script."""
    site, query = site_of(request), request.query_params
    return await answer_live_list(
        request,
        "tests_live.html",
        make_open_view,
        lambda viewer: _load_open(site, viewer, read_filters(query, viewer)),
        # What is visible of a pending run differs between viewers.
        lambda viewer: (read_filters(query, viewer), viewer, site.privacy.sight(viewer)),
        pause=PAUSE_SECONDS,
    )


# The whole list.


@dataclass(frozen=True, slots=True)
class RunListData:
    """The data for the list."""

    filters: ListFilters
    viewer: Actor | None
    open: OpenRunsData
    finished: tuple[Run, ...]
    total: int
    engines: tuple[str, ...]
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
    live: str
    """The address of the live rows; empty if unfinished tests are not searched."""
    finished: tuple[RunRow, ...]
    pager: Pager
    may_see_deleted: bool
    is_own: bool
    trouble: str


def make_list_view(data: RunListData) -> RunListView:
    """The view of the list. It computes statistics, so call it in a thread."""
    filters, viewer = data.filters, data.viewer
    opened, address = make_open_view(data.open), ListAddress(HERE, filters.values)
    return RunListView(
        title=_make_title(filters),
        summary=_summarise(data, len(data.open.runs)),
        filters=filters,
        results=RESULTS,
        engines=(("", "any"), *((name, name) for name in data.engines)),
        address=address,
        waiting=opened.waiting,
        playing=opened.playing,
        live=ListAddress(LIVE, filters.values).change() if filters.seeks_open_runs else "",
        finished=NO_PACES.make_rows(data.finished, data.open.now),
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


@runs(Domain.THREAD, "awaits two queries; the page is computed and rendered in a thread")
async def list_tests(request: Request) -> Response:
    viewer = await viewer_of(request)
    site, filters = site_of(request), read_filters(request.query_params, viewer)
    if run_id := await _find_named_run(site, viewer, filters.text):
        return redirect_to(f"/runs/{run_id}")
    data = await _load(site, viewer, filters)
    return await render_page_in_thread(request, "tests.html", make_list_view, data)


async def _find_named_run(site: Site, viewer: Actor | None, text: str) -> str:
    """The id of the run whose id or address was typed, if the viewer may see it."""
    found = RUN_ID.search(text.lower())
    if found is None:
        return ""
    try:
        return (await site.visible_runs.find(found.group(), name_of(viewer))).id
    except UnknownRun:
        return ""


async def _load(site: Site, viewer: Actor | None, filters: ListFilters) -> RunListData:
    privacy = site.privacy
    query = filters.make_query(privacy.hidden(name_of(viewer)))
    finished, total, trouble = await _load_finished(site, query)
    return RunListData(
        filters,
        viewer,
        await _load_open(site, viewer, filters),
        tuple(privacy.visible_part(viewer, run) for run in finished),
        total,
        tuple(sorted(privacy.catalogue(name_of(viewer)).engines)),
        trouble,
    )


async def _load_finished(site: Site, query: FinishedRunsQuery) -> tuple[tuple[Run, ...], int, str]:
    """A page of finished runs, their number, and a message if the search took too long."""
    reads = site.reads
    try:
        async with site.search_places.enter(has_index=not query.text):
            return await reads.finished(query), await reads.count_finished(query, MOST_COUNTED), ""
    except SearchTooSlow:
        return (), 0, TOO_LONG


def routes() -> list[BaseRoute]:
    return [
        Route(HERE, list_tests, methods=["GET"]),
        Route(LIVE, tests_live, methods=["GET"]),
    ]
