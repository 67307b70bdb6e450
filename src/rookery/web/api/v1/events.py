"""What happens to runs, as a stream of server-sent events.

    (nothing for 15 s) --> a comment, and another look whether the reader still may read
    a notice of the bus --> an event for each run in it that the reader asked for and may see

An event says how a run stands, so that a reader that was slow or away gets the last state of each
run and none in between. The last event of a notice carries its number, by which a reader resumes.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.protocol import v1
from rookery.protocol.fields import RunId
from rookery.service.events import FROM_THE_START, Notice, Subscription, Wanted
from rookery.service.fleet.faults import Rebuilding
from rookery.service.fleet.ports import QueueFull, StateLost
from rookery.web.api.desk import ApiDesk, refusals
from rookery.web.api.v1 import queries
from rookery.web.api.v1.callers import viewer_of
from rookery.web.api.v1.news import Item, News, in_brief, in_full
from rookery.web.faults import Fault, NotFound
from rookery.web.kit import kit_of
from rookery.web.openapi import Operation, described
from rookery.web.places import Places
from rookery.web.scope import facts_of, header, session_of
from rookery.web.streams import StreamedAnswer, Streams

KEEP_ALIVE_SECONDS = 15.0
AGAIN_SECONDS = 1.0
MEDIA_TYPE = "text/event-stream"
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
RETRY_MILLISECONDS = 1000
RETRY_STEP = 12
"""Readers come back between one and four seconds after a restart, and not all at once."""
COMMENT = b":\n\n"
MISSED = b"event: missed\ndata: {}\n\n"
FAREWELL = b": the server is stopping\n\n"
NOT_NOW = (Rebuilding, StateLost, QueueFull)


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads, what they asked for, and whether they still may."""

    viewer: str | None
    run: str
    user: str
    after: int | None
    brief: bool
    is_welcome: Callable[[], Awaitable[bool]]


class EventStream(StreamedAnswer):
    """An answer that holds a place for as long as it lasts; without one it does not begin."""

    def __init__(self, source: AsyncIterator[bytes], streams: Streams, places: Places) -> None:
        super().__init__(
            source, streams, media_type=MEDIA_TYPE, headers=HEADERS, last_words=FAREWELL
        )
        self._places = places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._places.enter(facts_of(scope).client):
            await super().__call__(scope, receive, send)


class EventEndpoints:
    """One stream for each reader, and one encoding of each event for all of them."""

    def __init__(self, desk: ApiDesk, *, keep_alive: float = KEEP_ALIVE_SECONDS) -> None:
        self._desk = desk
        self._full = News(desk.fleet, desk.bus, in_full(desk.threads))
        self._brief = News(desk.fleet, desk.bus, in_brief)
        self._places = Places(desk.event_gate)
        self._keep_alive = keep_alive

    @described(
        Operation(
            "Runs as they change, as server-sent events",
            {200: MEDIA_TYPE},
            query={"run": RunId, "user": v1.Name, "after": v1.Sequence, "brief": bool},
        )
    )
    @runs(Domain.STREAM, "waits for the bus; an event is encoded once, in a thread")
    async def events(self, request: Request) -> Response:
        reader = await self._reader(request)
        desk = self._desk
        return EventStream(self._lines(reader), desk.streams, self._places)

    async def _reader(self, request: Request) -> Reader:
        """Raises NotFound for a run that is unknown, or not to be known."""
        viewer = await viewer_of(request, self._desk.bearers)
        with refusals():
            query = request.query_params
            run_id, user = queries.run_in(query), queries.name_in(query, "user")
            after = queries.after_in(query, header(request.scope, b"last-event-id"))
            brief = queries.switch_in(query, "brief")
            run = await self._desk.fleet.run(run_id) if run_id else None
        if run_id and (run is None or not self._desk.privacy.sees(viewer, run)):
            raise NotFound
        return Reader(viewer, run_id, user, after, brief, lambda: self._is_welcome(request, viewer))

    async def _is_welcome(self, request: Request, viewer: str | None) -> bool:
        """A token may be revoked and a user blocked while the stream is open."""
        session = session_of(request.scope).data
        try:
            if viewer != await viewer_of(request, self._desk.bearers):
                return False
            standing = kit_of(request).standing
            return not session.user or await standing.holds(session)
        except Fault:
            return False
        except Exception as error:
            if not self._desk.is_outage(error):
                raise
            return True

    async def _lines(self, reader: Reader) -> AsyncIterator[bytes]:
        bus, looked = self._desk.bus, _now()
        after = FROM_THE_START if reader.run and reader.after is None else reader.after
        with bus.subscribe(Wanted(reader.run), after) as subscription:
            retry = RETRY_MILLISECONDS + RETRY_STEP * self._desk.chance(1)[0]
            yield b"retry: %d\n%b\n" % (retry, _numbered(subscription.position))
            while True:
                before = subscription.position
                notice = await self._next(subscription)
                if _now() - looked >= self._keep_alive:
                    looked = _now()
                    if not await reader.is_welcome():
                        return
                    yield COMMENT
                if notice is None:
                    continue
                async for line in self._told(notice, reader, subscription, before):
                    yield line

    async def _next(self, subscription: Subscription) -> Notice | None:
        try:
            async with asyncio.timeout(self._keep_alive):
                return await anext(subscription)
        except TimeoutError:
            return None

    async def _told(
        self, notice: Notice, reader: Reader, subscription: Subscription, before: int
    ) -> AsyncIterator[bytes]:
        news = self._brief if reader.brief else self._full
        held = MISSED if notice.missed else b""
        try:
            for run_id in sorted(notice.runs):
                item = await news.item(run_id)
                if item is not None and self._is_for(item, reader):
                    if held:
                        yield held
                    held = item.event
        except Exception as error:
            if not (isinstance(error, NOT_NOW) or self._desk.is_outage(error)):
                raise
            subscription.put_back(before)
            yield COMMENT
            await asyncio.sleep(AGAIN_SECONDS)
        else:
            if held:
                yield _numbered(notice.sequence) + held

    def _is_for(self, item: Item, reader: Reader) -> bool:
        own = not reader.user or item.run.plan.owner == reader.user
        return own and self._desk.privacy.sees(reader.viewer, item.run)


def _numbered(sequence: int) -> bytes:
    return b"id: %d\n" % sequence if sequence >= 0 else b""


def _now() -> float:
    return asyncio.get_running_loop().time()
