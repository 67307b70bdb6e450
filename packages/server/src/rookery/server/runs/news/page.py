"""The stream behind browser notifications: the ends of runs that the user follows or chose in this
browser and, for approvers, new runs and accounts that wait for them.

One tab of a browser reads it for all (`notify.js`). It says how far it was told, so that nothing is
lost between two pages; older events are not repeated.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

import msgspec
from starlette.requests import Request

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.notifications import Notification, account_waits
from rookery.core.model.run import DisplayState, Run
from rookery.core.protocol.user_queries import parse_integer
from rookery.server.boundary.domains import Domain
from rookery.server.db.fence import is_outage
from rookery.server.engines.privacy import Privacy, name_of
from rookery.server.farm.events import EVERY_RUN, Bus
from rookery.server.farm.rules.notifications import tell_state
from rookery.server.farm.views import FleetViews
from rookery.server.http.bodies import encode_event
from rookery.server.http.pages.page import viewer_of
from rookery.server.http.pages.pages import Pages
from rookery.server.http.query_values import LARGEST, read_switch
from rookery.server.http.scope import header
from rookery.server.http.signatures import Parts
from rookery.server.http.turns import Turns
from rookery.server.notify.outbox import Subscriptions
from rookery.server.notify.webhooks import NotificationBody
from rookery.server.notify.wording import describe_notification, link_to
from rookery.server.runs.approvals import PendingApprovals
from rookery.server.runs.events_api import (
    AGAIN_SECONDS,
    KEEP_ALIVE_SECONDS,
    NOT_NOW,
    REACH_SECONDS,
    EventReaders,
    EventStream,
    choose_retry,
    next_notice,
    read_last_seen,
)

MOST_CHOSEN = 30
MOST_FOLLOWED = 1000
LOOK_BACK = timedelta(minutes=10)
"""How long after its end a run is still announced, to bridge the time between two pages."""


_RUN_ID = re.compile(r"[0-9a-f]{24}", re.ASCII)


class NewsPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The position up to which a browser was told. It sends this when it reconnects."""

    after: int
    accounts: int


@dataclass(slots=True)
class NewsReader:
    """The reader of the stream, and what was announced already. `chosen` are the runs of this
    browser; with `all` those that the account follows are included."""

    viewer: Actor | None
    chosen: frozenset[str]
    all: bool
    after: int | None
    accounts: int | None
    watched: frozenset[str] = frozenset()
    pending: set[str] = field(default_factory=set)
    over: set[str] = field(default_factory=set)

    @property
    def approves(self) -> bool:
        return self.all and self.viewer is not None and self.viewer.approver


@dataclass(frozen=True, slots=True)
class NewsSources(Parts):
    """Where the news come from."""

    bus: Bus
    views: FleetViews
    privacy: Privacy
    subscriptions: Subscriptions
    approvals: PendingApprovals
    readers: EventReaders
    turns: Turns
    clock: Clock


pages = Pages()
routes = pages.make_routes


@pages("GET /live/news", "waits for the bus; a few queries now and then", where=Domain.STREAM)
async def stream_news(request: Request, viewer: Actor | None, sources: NewsSources) -> EventStream:
    query = request.query_params
    accounts = query.get("accounts", "")
    after = parse_integer(query, "after", least=0, most=LARGEST) if "after" in query else None
    reader = NewsReader(
        viewer,
        frozenset(filter(_RUN_ID.fullmatch, query.getlist("run")[:MOST_CHOSEN])),
        read_switch(query.get("all", "false"), "all"),
        read_last_seen(header(request.scope, b"last-event-id"), after),
        int(accounts) if accounts.isdecimal() and len(accounts) < 10 else None,
    )
    return sources.readers.open_stream(NewsStream(sources, request, reader).write())


class NewsStream:
    """The stream of one browser."""

    def __init__(self, sources: NewsSources, request: Request, reader: NewsReader) -> None:
        self._sources = sources
        self._request = request
        self._reader = reader

    async def write(self) -> AsyncIterator[bytes]:
        sources, reader = self._sources, self._reader
        yield choose_retry() + b"\n"
        await sources.bus.reach(reader.after or 0, seconds=REACH_SECONDS)
        with sources.bus.subscribe(EVERY_RUN, reader.after) as subscription:
            await self._begin(sources.bus.since(subscription.position).runs)
            looked = sources.clock.seconds()
            yield self._place(subscription.position)
            while True:
                before = subscription.position
                notice = await next_notice(subscription, KEEP_ALIVE_SECONDS)
                await sources.turns.take()
                again = sources.clock.seconds() - looked >= KEEP_ALIVE_SECONDS
                if again:
                    looked = sources.clock.seconds()
                    if not await sources.readers.is_welcome(self._request, name_of(reader.viewer)):
                        return
                try:
                    if again:
                        reader.viewer = await viewer_of(self._request)
                        reader.watched = await self._list_watched()
                    told = [one async for one in self._find(notice.runs if notice else ())]
                except Exception as error:
                    if not (isinstance(error, NOT_NOW) or is_outage(error)):
                        raise
                    subscription.put_back(before)
                    await asyncio.sleep(AGAIN_SECONDS)
                    continue
                for one in told:
                    yield encode_event("told", self._show(one))
                if told or again:
                    yield self._place(subscription.position)

    async def _begin(self, changed: frozenset[str]) -> None:
        """Note the present state, which was announced before or is older than the reader's
        position."""
        reader = self._reader
        reader.watched = await self._list_watched()
        unfinished = {run.id for run in await self._sources.views.active()}
        reader.over = set(reader.watched - changed - unfinished)
        reader.pending = {run.id for run in await self._list_pending()} - changed
        if reader.accounts is None:
            reader.accounts = await self._count_accounts()

    async def _list_watched(self) -> frozenset[str]:
        reader = self._reader
        if reader.viewer is None or not reader.all:
            return reader.chosen
        since = self._sources.clock.now() - LOOK_BACK
        followed = self._sources.subscriptions.list_followed
        return reader.chosen | await followed(reader.viewer.name, since, MOST_FOLLOWED)

    async def _find(self, changed: Iterable[str]) -> AsyncIterator[Notification]:
        async for run in self._find_ended(changed):
            if told := tell_state(run):
                yield told
        waiting = await self._list_pending()
        for run in waiting:
            if run.id not in self._reader.pending and (told := tell_state(run)):
                yield told
        self._reader.pending = {run.id for run in waiting}
        before, self._reader.accounts = self._reader.accounts or 0, await self._count_accounts()
        if self._reader.accounts > before:
            yield account_waits("", self._sources.clock.now())

    async def _find_ended(self, changed: Iterable[str]) -> AsyncIterator[Run]:
        reader, sources = self._reader, self._sources
        for run_id in sorted(reader.watched.intersection(changed)):
            run = await sources.views.run(run_id)
            if run is None or not sources.privacy.may_see(name_of(reader.viewer), run):
                continue
            if not run.status.finished:
                reader.over.discard(run_id)
            elif run_id not in reader.over and not run.status.deleted:
                reader.over.add(run_id)
                yield sources.privacy.visible_part(reader.viewer, run)

    async def _list_pending(self) -> list[Run]:
        """The runs that the reader may approve; approvers' own runs are for others."""
        reader = self._reader
        if not reader.approves or reader.viewer is None:
            return []
        name = reader.viewer.name
        return [
            run
            for run in await self._sources.views.active()
            if run.display is DisplayState.PENDING
            and run.plan.owner != name
            and self._sources.privacy.may_see(name, run)
        ]

    async def _count_accounts(self) -> int:
        reader = self._reader
        if not reader.approves or reader.viewer is None:
            return 0
        return (await self._sources.approvals.count_for(reader.viewer.name)).accounts

    def _show(self, told: Notification) -> NotificationBody:
        text = describe_notification(told) if told.run else "An account waits for approval"
        url = link_to(told, "")
        return NotificationBody(
            kind=told.kind, at=told.at, title=told.title, text=text, url=url, run=told.run
        )

    def _place(self, position: int) -> bytes:
        place = NewsPlace(after=max(0, position), accounts=self._reader.accounts or 0)
        return b"id: %d\n" % place.after + encode_event("place", place)
