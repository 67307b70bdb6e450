"""The list of tests: finished ones by filters and pages, and matching unfinished ones."""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.run import DisplayState, Run
from rookery.server.engines.privacy import Privacy, name_of
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.read_values import FinishedRunsQuery, may_begin_commit
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.views import UnknownRun
from rookery.server.http.faults import SearchTooSlow
from rookery.server.http.pages.filters import (
    find_end_of_day,
    read_day,
    read_search,
    read_text,
    read_word,
)
from rookery.server.http.pages.listing import (
    ListAddress,
    Pager,
    make_open_pager,
    make_pager,
    read_page,
)
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.signatures import Parts
from rookery.server.http.turns import SearchPlaces
from rookery.server.runs.live import LivePages
from rookery.server.show.rights import plays_engine
from rookery.server.show.run_paces import NO_PACES, RunPaces, load_paces

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


@dataclass(frozen=True, slots=True)
class RunListData:
    """The data for the list: frozen values only, because a thread computes the rows."""

    now: datetime
    filters: ListFilters
    viewer: Actor | None
    unfinished: Sequence[Run] = ()
    """The unfinished runs that are searched for, which are updated live."""
    paces: RunPaces = NO_PACES
    finished: Sequence[Run] = ()
    total: int = 0
    engines: Sequence[str] = ()
    trouble: str = ""


def make_list(data: RunListData) -> Mapping[str, object]:
    """What the list shows. It computes statistics, so call it in a thread."""
    filters, address = data.filters, ListAddress(HERE, data.filters.values)
    waiting = [run for run in data.unfinished if run.display is DisplayState.PENDING]
    playing = [run for run in data.unfinished if run.status.approved]
    return {
        "data": data,
        "filters": filters,
        "results": RESULTS,
        "engines": [("", "any"), *((name, name) for name in data.engines)],
        "waiting": data.paces.make_rows(waiting[:MOST_OPEN], data.now),
        "playing": data.paces.make_rows(playing[:MOST_OPEN], data.now),
        "live": ListAddress(LIVE, filters.values).change() if filters.seeks_open_runs else "",
        "finished": NO_PACES.make_rows(data.finished, data.now),
        "many": data.total >= MOST_COUNTED,
        "pager": _make_pager(address, data),
    }


def _make_pager(address: ListAddress, data: RunListData) -> Pager:
    page = data.filters.page
    if data.total >= MOST_COUNTED:
        return make_open_pager(address, page, more=len(data.finished) == PAGE_SIZE)
    return make_pager(address, page, PAGE_SIZE, data.total)


pages = Pages()
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class TestSearch(Parts):
    """Loads the list of tests."""

    clock: Clock
    places: SearchPlaces
    privacy: Privacy
    reads: FleetReads
    fleet: Fleet
    threads: Threads
    visible: VisibleRuns

    async def load(self, viewer: Actor | None, filters: ListFilters) -> RunListData:
        query = filters.make_query(self.privacy.hidden(name_of(viewer)))
        finished, total, trouble = await self._load_finished(query)
        return replace(
            await self.load_open(viewer, filters),
            finished=[self.privacy.visible_part(viewer, run) for run in finished],
            total=total,
            engines=sorted(self.privacy.catalogue(name_of(viewer)).engines),
            trouble=trouble,
        )

    async def load_open(self, viewer: Actor | None, filters: ListFilters) -> RunListData:
        """The unfinished tests of the list."""
        now, active = self.clock.now(), await self.fleet.views.active()
        found = await self.threads.cpu(self._select_open, viewer, filters, active)
        paces = await load_paces(self.fleet, self.reads, found, now)
        return RunListData(now, filters, viewer, found, paces)

    def _select_open(
        self, viewer: Actor | None, filters: ListFilters, active: Sequence[Run]
    ) -> list[Run]:
        """Those that suit the filters. Only what the viewer may see can be found."""
        if not filters.seeks_open_runs:
            return []
        hidden = self.privacy.hidden(name_of(viewer))
        shown = (
            self.privacy.visible_part(viewer, run)
            for run in active
            if not plays_engine(run, hidden)
        )
        return [run for run in shown if filters.suits_open_run(run)]

    async def _load_finished(self, query: FinishedRunsQuery) -> tuple[tuple[Run, ...], int, str]:
        """A page of finished runs, their number, and a message if the search took too long."""
        reads = self.reads
        try:
            async with self.places.enter(has_index=not query.text):
                found = await reads.finished(query)
                return found, await reads.count_finished(query, MOST_COUNTED), ""
        except SearchTooSlow:
            return (), 0, TOO_LONG

    async def find_named(self, viewer: Actor | None, text: str) -> str:
        """The id of the run whose id or address was typed, if the viewer may see it."""
        found = RUN_ID.search(text.lower())
        if found is None:
            return ""
        try:
            return (await self.visible.find(found.group(), name_of(viewer))).id
        except UnknownRun:
            return ""


@pages("GET /tests", "awaits two queries; the page is computed and rendered in a thread")
async def list_tests(
    viewer: Actor | None, search: TestSearch, query: QueryParams
) -> Page | Response:
    """The list of tests."""
    filters = read_filters(query, viewer)
    if run_id := await search.find_named(viewer, filters.text):
        return redirect_to(f"/runs/{run_id}")
    return Page("tests.html", await search.load(viewer, filters), make=make_list)


@pages("GET /tests/live", "loads on the loop, computed and rendered in a thread")
async def tests_live(
    request: Request, live: LivePages, search: TestSearch, query: QueryParams
) -> Response:
    """The rows of unfinished tests, for the page's script."""

    async def load(viewer: Actor | None) -> Page:
        data = await search.load_open(viewer, read_filters(query, viewer))
        return Page("tests_live.html", data, make=make_list)

    # What is visible of a pending run differs between viewers.
    def find_sight(viewer: Actor | None) -> Hashable:
        return read_filters(query, viewer), viewer, search.privacy.sight(viewer)

    return await live.answer_list(request, load, find_sight, pause=PAUSE_SECONDS)
