"""The log of actions: who did what, with filters, a search and the newest at the top."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.events import Action, Event
from rookery.core.protocol.actions import All, Compare, Either, Expression, Mentions, Older, Order
from rookery.server.engines.privacy import Privacy, name_of
from rookery.server.farm.reads import FleetReads
from rookery.server.files.worker_logs import LogStore, StoredLog
from rookery.server.http.faults import SearchTooSlow
from rookery.server.http.pages.filters import (
    find_end_of_day,
    read_day,
    read_search,
    read_text,
    read_word,
)
from rookery.server.http.pages.listing import ListAddress
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.signatures import Parts
from rookery.server.http.turns import SearchPlaces
from rookery.server.log.action_rows import ACTION_WORDS, index_logs, list_readable
from rookery.server.log.api import select_machine_actions
from rookery.server.runs.live import LivePages

HERE = "/log"
ROWS = 100
PAUSE_SECONDS = 5.0
KINDS = tuple(action.value for action in Action)
TOO_LONG = "The search took too long. Narrow it down by date, kind or user."
ID_LENGTH = 24

pages = Pages(HERE)
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class LogFilters:
    """What a visitor filters by, as given in the address."""

    action: str = ""
    user: str = ""
    run: str = ""
    machine: str = ""
    since: str = ""
    until: str = ""
    text: str = ""
    before: str = ""
    """The last line of the previous page, as `time-number`."""

    @property
    def address(self) -> ListAddress:
        given = {
            "action": self.action,
            "user": self.user,
            "run": self.run,
            "machine": self.machine,
            "since": self.since,
            "until": self.until,
            "text": self.text,
        }
        return ListAddress(HERE, given)

    @property
    def is_any(self) -> bool:
        return any(self.address.values.values())


def read_log_filters(query: Mapping[str, str]) -> LogFilters:
    since, until = read_day(query, "since"), read_day(query, "until")
    return LogFilters(
        action=read_word(query, "action", KINDS),
        user=read_text(query, "user"),
        run=read_text(query, "run"),
        machine=read_text(query, "machine"),
        since=f"{since:%Y-%m-%d}" if since else "",
        until=f"{until:%Y-%m-%d}" if until else "",
        text=read_search(query),
        before=query.get("before", "") if _read_moment_cursor(query.get("before", "")) else "",
    )


@dataclass(frozen=True, slots=True)
class LogReader(Parts):
    """Reads the log, without what a visitor may not see."""

    reads: FleetReads
    privacy: Privacy
    places: SearchPlaces
    logs: LogStore
    clock: Clock

    async def load(self, viewer: Actor | None, filters: LogFilters) -> Mapping[str, object]:
        """What the page shows."""
        address, query = filters.address, filters.address.change().removeprefix(HERE)
        trouble, found = "", await self._search(viewer, filters)
        if found is None:
            trouble, found = TOO_LONG, ()
        events = found[:ROWS]
        return {
            "now": self.clock.now(),
            "filters": filters,
            "events": events,
            "logs": index_logs(await self._load_logs(viewer, events)),
            "kinds": {"": "everything", **{kind: ACTION_WORDS[kind] for kind in KINDS}},
            # Older lines do not change.
            "live": "" if filters.before else f"{HERE}/live{query}",
            "older": address.change(before=_make_cursor(events[-1])) if len(found) > ROWS else "",
            "newest": address.change() if filters.before else "",
            "trouble": trouble,
        }

    async def _search(self, viewer: Actor | None, filters: LogFilters) -> tuple[Event, ...] | None:
        """The lines of a page and one more; None if the search took too long."""
        wanted, sight = All(tuple(_list_conditions(filters))), self.privacy.sight(viewer)
        try:
            async with self.places.enter(has_index=not filters.text):
                return await self.reads.actions(wanted, limit=ROWS + 1, sight=sight)
        except SearchTooSlow:
            return None

    async def _load_logs(
        self, viewer: Actor | None, events: tuple[Event, ...]
    ) -> tuple[StoredLog, ...]:
        """The worker logs of these events that this visitor may read."""
        if viewer is None or not events:
            return ()
        found = await self.reads.runs({event.run for event in events if event.task is not None})
        seen = {run.id: run for run in found if self.privacy.may_see(name_of(viewer), run)}
        return await self.logs.rows.of_tasks(list_readable(events, seen, viewer))


@pages("GET /log", "awaits three queries, rendered in a thread")
async def log_page(viewer: Actor | None, reader: LogReader, query: QueryParams) -> Page:
    return Page("log.html", await reader.load(viewer, read_log_filters(query)))


@pages("GET /log/live", "awaits three queries, rendered in a thread")
async def log_live(
    request: Request, live: LivePages, reader: LogReader, query: QueryParams
) -> Response:
    """The lines of the log, for the page's script."""
    filters = read_log_filters(query)

    async def load(viewer: Actor | None) -> Page:
        return Page("log_live.html", await reader.load(viewer, filters))

    # Which logs of failures are readable differs between viewers.
    def find_sight(viewer: Actor | None) -> Hashable:
        return filters, viewer, reader.privacy.sight(viewer)

    return await live.answer_list(request, load, find_sight, pause=PAUSE_SECONDS)


def _list_conditions(filters: LogFilters) -> Iterator[Expression]:
    if filters.action:
        yield Compare("action", Order.EQUAL, filters.action)
    if filters.user:
        named = (Compare(field, Order.EQUAL, filters.user) for field in ("username", "user"))
        yield Either(tuple(named))
    if filters.run:
        field = "run_id" if len(filters.run) == ID_LENGTH else "run"
        yield Compare(field, Order.EQUAL, filters.run)
    if filters.machine:
        yield select_machine_actions(filters.machine)
    if filters.text:
        yield Mentions(filters.text)
    yield from _list_times(filters)


def _list_times(filters: LogFilters) -> Iterator[Expression]:
    days = {"since": filters.since, "until": filters.until}
    if since := read_day(days, "since"):
        yield Compare("time", Order.AT_LEAST, since.timestamp())
    if until := read_day(days, "until"):
        yield Compare("time", Order.BELOW, find_end_of_day(until).timestamp())
    if cursor := _read_moment_cursor(filters.before):
        yield Older(*cursor)


def _make_cursor(last: Event) -> str:
    return f"{last.at.astimezone(UTC).timestamp():.6f}-{last.id}"


def _read_moment_cursor(text: str) -> tuple[float, int] | None:
    """The end of a page of the log, given as `time-number`; None if it is malformed."""
    seconds, mark, number = text[:40].partition("-")
    whole, _, part = seconds.partition(".")
    digits = (whole, part or "0", number)
    if not mark or not all(each.isascii() and each.isdigit() for each in digits):
        return None
    return (float(seconds), int(number)) if len(whole) < 12 and len(number) < 18 else None
