"""Changes of runs as a stream of server-sent events.

    (nothing for 15 s) --> a comment, and a check whether the reader may still read
    a notice of the bus --> an event for each run in it that the reader asked for and may see

An event contains the state of a run. A reader that was slow or away gets the last state of each run
and none in between. The last event of a notice carries its number, from which a reader can resume.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from rookery.core.boundary.offload import Threads
from rookery.core.model.bounds import RunId
from rookery.core.model.run import Run
from rookery.core.protocol import v1
from rookery.server.caches import SharedWork
from rookery.server.db.fence import is_outage
from rookery.server.engines.privacy import Privacy, without_sources
from rookery.server.farm.commits import QueueFull, StateLost
from rookery.server.farm.events import FROM_THE_START, Bus, Notice, Subscription, Wanted
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.primary import Rebuilding
from rookery.server.farm.views import RunSpeed
from rookery.server.http.bodies import Places, StreamedAnswer, Streams, encode_event
from rookery.server.http.callers import find_caller
from rookery.server.http.endpoint import STREAM, Endpoints
from rookery.server.http.error_table import REFUSALS
from rookery.server.http.faults import NotFound, Unauthorized
from rookery.server.http.query_values import LARGEST, Query
from rookery.server.http.scope import header, request_info_of, session_of
from rookery.server.http.session import SessionCheck
from rookery.server.identity.bearers import Bearers, Caller, name_of_caller
from rookery.server.identity.users import Scope
from rookery.server.runs.api import make_details

# Runs as server-sent events, each encoded once for all readers.

MOST_BYTES = 16 * 1024 * 1024
RUN_BYTES = 4096
"""The approximate memory that a run takes."""

api = Endpoints("/api/v1")

Encode = Callable[[Run, RunSpeed], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class EncodedRun:
    """A run as it was read after a commit, encoded as an event."""

    run: Run
    sequence: int
    event: bytes

    @property
    def size(self) -> int:
        return RUN_BYTES + len(self.event)


class EncodedRuns:
    """A cache of encoded runs. There is one per app, used on the event loop only."""

    def __init__(self, fleet: Fleet, bus: Bus, encode: Encode) -> None:
        self._fleet = fleet
        self._bus = bus
        self._encode = encode
        self._kept: OrderedDict[str, EncodedRun] = OrderedDict()
        self._bytes = 0
        self._looks: SharedWork[tuple[str, int], EncodedRun | None] = SharedWork()

    async def item(self, run_id: str) -> EncodedRun | None:
        """The present state of a run; None if there is no such run."""
        kept, changed = self._kept.get(run_id), self._bus.last_change(run_id)
        if kept is not None and kept.sequence >= changed:
            return kept
        # The key contains the change, so that a caller never shares a read that began before it.
        return await self._looks((run_id, changed), lambda: self._look(run_id))

    async def _look(self, run_id: str) -> EncodedRun | None:
        sequence = self._bus.seen
        run = await self._fleet.views.run(run_id)
        if run is None:
            return None
        item = EncodedRun(
            run, sequence, await self._encode(run, self._fleet.activity.speed(run_id))
        )
        self._keep(item)
        return item

    def _keep(self, item: EncodedRun) -> None:
        self._drop(item.run.id)
        self._kept[item.run.id] = item
        self._bytes += item.size
        while self._bytes > MOST_BYTES:
            self._drop(next(iter(self._kept)))

    def _drop(self, run_id: str) -> None:
        old = self._kept.pop(run_id, None)
        self._bytes -= old.size if old else 0


def in_full(threads: Threads) -> Encode:
    """Encodes all details of a run, which includes statistics."""

    async def encode(run: Run, speed: RunSpeed) -> bytes:
        # All readers get the same text. For a run that nobody has approved, it has only what
        # strangers may read.
        shown = run if run.status.approved or run.tally.tasks else without_sources(run)
        return await threads.cpu(lambda: encode_event("run", make_details(shown, speed)))

    return encode


async def in_brief(run: Run, _speed: RunSpeed) -> bytes:
    """Encodes only a run's id and state, for readers that fetch the rest themselves."""
    return encode_event("run", v1.RunMark(id=run.id, state=run.display))


KEEP_ALIVE_SECONDS = 15.0
AGAIN_SECONDS = 1.0
REACH_SECONDS = 5.0
MEDIA_TYPE = "text/event-stream"
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
RETRY_MILLISECONDS = 1000
RETRY_STEP = 12
"""The step of the random delay: after a restart, readers come back within one to four seconds, not
all at once."""
COMMENT = b":\n\n"
MISSED = b"event: missed\ndata: {}\n\n"
FAREWELL = b": the server is stopping\n\n"
NOT_NOW = (Rebuilding, StateLost, QueueFull)


@dataclass(frozen=True, slots=True)
class EventReader:
    """The reader of a stream: what they asked for, and whether they may still read it."""

    viewer: str | None
    run: str
    user: str
    after: int | None
    brief: bool
    is_welcome: Callable[[], Awaitable[bool]]


class EventStream(StreamedAnswer):
    """An answer that holds a place while it lasts. Without a free place it does not begin."""

    def __init__(
        self,
        source: AsyncIterator[bytes],
        streams: Streams,
        places: Places,
        headers: dict[str, str] = HEADERS,
        last_words: bytes = FAREWELL,
    ) -> None:
        super().__init__(
            source, streams, media_type=MEDIA_TYPE, headers=headers, last_words=last_words
        )
        self._places = places

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        with self._places.enter(request_info_of(scope).client):
            await super().__call__(scope, receive, send)


class EventReaders:
    """Opens streams of events, and looks at their readers again while they are open."""

    def __init__(
        self, streams: Streams, places: Places, sessions: SessionCheck, bearers: Bearers
    ) -> None:
        self._streams = streams
        self._places = places
        self._sessions = sessions
        self._bearers = bearers

    def open_stream(
        self,
        source: AsyncIterator[bytes],
        headers: dict[str, str] = HEADERS,
        last_words: bytes = FAREWELL,
    ) -> EventStream:
        return EventStream(source, self._streams, self._places, headers, last_words)

    async def is_welcome(self, request: Request, viewer: str | None) -> bool:
        """Whether a reader may continue: a token may be revoked, or a user blocked, while a stream
        is open. A session costs no query of its own."""
        try:
            return viewer == await self._find_reader(request)
        except REFUSALS:
            return False
        except Exception as error:
            if not is_outage(error):
                raise
            return True

    async def _find_reader(self, request: Request) -> str | None:
        """Who reads now. Raises Unauthorized if their session or token does not count any more."""
        if not header(request.scope, b"authorization"):
            session = session_of(request.scope).data
            if session.user and not await self._sessions.holds(session):
                raise Unauthorized
            return session.user or None
        caller = await find_caller(request, self._bearers)
        return caller.user.name if caller and Scope.READ in caller.scopes else None


class EventFeed:
    """Makes a stream for each reader and encodes each event once for all of them. There is one per
    app."""

    def __init__(
        self,
        fleet: Fleet,
        bus: Bus,
        privacy: Privacy,
        threads: Threads,
        readers: EventReaders,
        *,
        keep_alive: float = KEEP_ALIVE_SECONDS,
    ) -> None:
        self._views = fleet.views
        self._bus = bus
        self._privacy = privacy
        self._readers = readers
        self._full = EncodedRuns(fleet, bus, in_full(threads))
        self._brief = EncodedRuns(fleet, bus, in_brief)
        self._keep_alive = keep_alive

    async def open_stream(self, reader: EventReader) -> EventStream:
        """The stream of a reader. Raises NotFound for a run that does not exist or that they may
        not see."""
        run = await self._views.run(reader.run) if reader.run else None
        if reader.run and (run is None or not self._privacy.may_see(reader.viewer, run)):
            raise NotFound
        return self._readers.open_stream(self._lines(reader))

    async def _lines(self, reader: EventReader) -> AsyncIterator[bytes]:
        bus, looked = self._bus, _now()
        after = FROM_THE_START if reader.run and reader.after is None else reader.after
        await bus.reach(after or 0, seconds=REACH_SECONDS)
        with bus.subscribe(Wanted(reader.run), after) as subscription:
            yield b"%b%b\n" % (choose_retry(), _numbered(subscription.position))
            while True:
                before = subscription.position
                notice = await next_notice(subscription, self._keep_alive)
                if _now() - looked >= self._keep_alive:
                    looked = _now()
                    if not await reader.is_welcome():
                        return
                    yield COMMENT
                if notice is None:
                    continue
                async for line in self._told(notice, reader, subscription, before):
                    yield line

    async def _told(
        self, notice: Notice, reader: EventReader, subscription: Subscription, before: int
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
            if not (isinstance(error, NOT_NOW) or is_outage(error)):
                raise
            subscription.put_back(before)
            yield COMMENT
            await asyncio.sleep(AGAIN_SECONDS)
        else:
            if held:
                yield _numbered(notice.sequence) + held

    def _is_for(self, item: EncodedRun, reader: EventReader) -> bool:
        own = not reader.user or item.run.plan.owner == reader.user
        return own and self._privacy.may_see(reader.viewer, item.run)


async def next_notice(subscription: Subscription, seconds: float) -> Notice | None:
    """The next notice; None if there was none within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            return await anext(subscription)
    except TimeoutError:
        return None


def choose_retry() -> bytes:
    """The `retry` field of a stream, which differs so that readers do not all return at once."""
    return b"retry: %d\n" % (RETRY_MILLISECONDS + RETRY_STEP * secrets.token_bytes(1)[0])


class WantedEvents(Query, frozen=True):
    """The runs whose changes a reader wants, and where they continue."""

    run: RunId = ""
    user: v1.Name = ""
    after: v1.Sequence | None = None
    brief: bool = False


@api(
    "GET /events",
    STREAM,
    "waits for the bus; an event is encoded once, in a thread",
    media=MEDIA_TYPE,
)
async def stream_events(
    readers: EventReaders,
    feed: EventFeed,
    caller: Caller | None,
    wanted: WantedEvents,
    request: Request,
) -> EventStream:
    """Runs as they change, as server-sent events."""
    viewer = name_of_caller(caller)
    after = read_last_seen(header(request.scope, b"last-event-id"), wanted.after)
    return await feed.open_stream(
        EventReader(
            viewer,
            wanted.run,
            wanted.user,
            after,
            wanted.brief,
            lambda: readers.is_welcome(request, viewer),
        )
    )


def read_last_seen(text: str, after: int | None) -> int | None:
    """The position after which a stream continues: `Last-Event-ID` of a reconnecting reader, or
    else `after`."""
    if text.isdecimal() and text.isascii():
        return min(int(text[:20]), LARGEST)
    return after


def _numbered(sequence: int) -> bytes:
    return b"id: %d\n" % sequence if sequence >= 0 else b""


def _now() -> float:
    return asyncio.get_running_loop().time()
