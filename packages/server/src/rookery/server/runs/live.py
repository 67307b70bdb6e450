"""Live parts of pages: fetched once, or sent again whenever they have changed.

A page's script opens the address of its part as an event stream and receives the part as HTML. All
who may see the same get the same compressed bytes. Without a stream, the same address returns the
part once.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.run import Run
from rookery.server.db.fence import is_outage
from rookery.server.engines.privacy import Privacy, name_of
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.events import Bus, Wanted
from rookery.server.farm.views import UnknownRun
from rookery.server.http.faults import NotFound
from rookery.server.http.fragments import RenderedPart, SharedParts
from rookery.server.http.packing import GZIP_HEAD, pack_piece, takes_gzip
from rookery.server.http.pages.page import (
    NOBODYS_FRAME,
    answer_part,
    keep,
    render_shared,
    viewer_of,
)
from rookery.server.http.pages.pages import Page
from rookery.server.http.rendering import Frame, Templates
from rookery.server.http.turns import Turns
from rookery.server.runs.events_api import (
    AGAIN_SECONDS,
    FAREWELL,
    HEADERS,
    KEEP_ALIVE_SECONDS,
    MEDIA_TYPE,
    NOT_NOW,
    EventReaders,
    choose_retry,
    next_notice,
)

M = TypeVar("M")
FindPart = Callable[[Actor | None], Awaitable[RenderedPart]]
"""Finds the newest part for a viewer. Raises NotFound if this viewer may no longer see it."""

PACKED_HEADERS = {**HEADERS, "content-encoding": "gzip"}
ALIVE = b"event: alive\ndata:\n\n"
"""The event that tells a page's script that nothing has changed, so that it notices a dead
connection."""
PACKED_ALIVE = pack_piece(ALIVE)
PACKED_FAREWELL = pack_piece(FAREWELL)


@dataclass(frozen=True, slots=True)
class LivePages:
    """Answers for the live parts of pages. There is one per app."""

    parts: SharedParts
    bus: Bus
    threads: Threads
    templates: Templates
    visible: VisibleRuns
    privacy: Privacy
    turns: Turns
    clock: Clock
    readers: EventReaders

    async def answer(
        self, request: Request, find: FindPart, *, run: str = "", pause: float = 0.0
    ) -> Response:
        """The part that `find` returns: once, or in a stream after every change of this run (of any
        run if none is given), with a pause of so many seconds between two."""
        viewer = await viewer_of(request)
        if MEDIA_TYPE not in request.headers.get("accept", ""):
            return answer_part(request, await find(viewer))
        packed = takes_gzip(request.headers.get("accept-encoding", ""))
        stream = PartStream(self, request, viewer, find, Wanted(run), pause, packed=packed)
        # Refuse what the viewer may not see before a stream begins.
        await find(viewer)
        if packed:
            return self.readers.open_stream(stream.write(), PACKED_HEADERS, PACKED_FAREWELL)
        return self.readers.open_stream(stream.write())

    async def answer_list(
        self,
        request: Request,
        load: Callable[[Actor | None], Awaitable[Page]],
        sight: Callable[[Actor | None], Hashable],
        *,
        pause: float,
    ) -> Response:
        """A part that any run may change, rendered once for all viewers with equal `sight`."""

        async def find(viewer: Actor | None) -> RenderedPart:
            async def render() -> RenderedPart:
                return await self.render(await load(viewer))

            async def find_key() -> Hashable:
                return (request.url.path, sight(viewer))

            return await self.parts.find_newest(find_key, self.count_changes, render)

        return await self.answer(request, find, pause=pause)

    async def answer_run(
        self,
        request: Request,
        run_id: str,
        load: Callable[[Run, Actor | None], Awaitable[Page]],
    ) -> Response:
        """A part about a run, rendered once for all who may see the same of it. The run is loaded
        once for each change of it; what the viewer may see is decided anew each time."""

        def find_change() -> int:
            return self.bus.last_change(run_id)

        async def find(viewer: Actor | None) -> RenderedPart:
            name, privacy = name_of(viewer), self.privacy
            known = LoadedRun(partial(self.visible.find, run_id, name), find_change)

            async def find_seen() -> Run:
                run = await known.find()
                if not privacy.may_see(name, run):
                    raise UnknownRun(run=run_id)
                return privacy.visible_part(viewer, run)

            async def find_key() -> Hashable:
                run = await find_seen()
                sight = (privacy.may_read_sources(viewer, run), privacy.is_insider(viewer, run))
                return (request.url.path, privacy.hidden(name), sight)

            async def render() -> RenderedPart:
                return await self.render(await load(await find_seen(), viewer))

            return await self.parts.find_newest(find_key, find_change, render)

        return await self.answer(request, find, run=run_id)

    async def render(
        self, page: Page, facts: object = None, frame: Frame = NOBODYS_FRAME
    ) -> RenderedPart:
        """Render what many viewers share. It must not contain anything personal; its frame is that
        of a visitor without messages."""
        make, shown = page.make, page.shown
        work = partial(render_shared, self.templates, page.template, frame, make, shown, facts)
        return await self.threads.cpu(work)

    def count_changes(self) -> int:
        """The number of changes of any run so far."""
        return self.bus.seen


async def answer_live_list(
    request: Request,
    template: str,
    load: Callable[[Actor | None], Awaitable[M]],
    sight: Callable[[Actor | None], Hashable],
    *,
    pause: float,
    make: Callable[[M], object] = keep,
) -> Response:
    """As `LivePages.answer_list`, for pages that are not given their features."""
    live: LivePages = request.app.state.features(LivePages)

    async def load_page(viewer: Actor | None) -> Page:
        return Page(template, await load(viewer), make=make)

    return await live.answer_list(request, load_page, sight, pause=pause)


class LoadedRun:
    """A run that is loaded again only after a change of it."""

    def __init__(self, load: Callable[[], Awaitable[Run]], find_change: Callable[[], int]) -> None:
        self._load = load
        self._find_change = find_change
        self._loaded: tuple[int, Run] | None = None

    async def find(self) -> Run:
        """The run with all changes up to the call."""
        change = self._find_change()
        if self._loaded is None or self._loaded[0] != change:
            self._loaded = change, await self._load()
        return self._loaded[1]


class PartStream:
    """The stream of one open page."""

    def __init__(
        self,
        live: LivePages,
        request: Request,
        viewer: Actor | None,
        find: FindPart,
        wanted: Wanted,
        pause: float,
        *,
        packed: bool,
    ) -> None:
        self._live = live
        self._request = request
        self._viewer = viewer
        self._find = find
        self._wanted = wanted
        self._pause = pause
        self._packed = packed
        self._sent = ""
        self._owes = False
        """Whether a change could not be sent yet."""

    async def write(self) -> AsyncIterator[bytes]:
        live, begun = self._live, choose_retry() + b"\n"
        yield GZIP_HEAD + pack_piece(begun) if self._packed else begun
        with live.bus.subscribe(self._wanted) as subscription:
            looked = live.clock.seconds()
            while True:
                if (told := await self._tell()) is None:
                    return
                yield told
                await asyncio.sleep(self._pause)
                if not self._owes:
                    await next_notice(subscription, KEEP_ALIVE_SECONDS)
                await live.turns.take()
                if live.clock.seconds() - looked >= KEEP_ALIVE_SECONDS:
                    looked = live.clock.seconds()
                    if not await self._look_again():
                        return

    async def _tell(self) -> bytes | None:
        """The next event: the part if it has changed, else a sign of life. None if the viewer may
        no longer see the part."""
        try:
            part = await self._find(self._viewer)
        except (NotFound, UnknownRun):
            return None
        except Exception as error:
            if not (isinstance(error, NOT_NOW) or is_outage(error)):
                raise
            self._owes = True
            await asyncio.sleep(AGAIN_SECONDS)
            return self._alive
        self._owes = False
        if part.text == self._sent:
            return self._alive
        self._sent = part.text
        return part.packed_event if self._packed else part.event

    @property
    def _alive(self) -> bytes:
        return PACKED_ALIVE if self._packed else ALIVE

    async def _look_again(self) -> bool:
        """Check the viewer again, who may have been blocked or got other permissions. Returns
        whether the stream may continue."""
        if not await self._live.readers.is_welcome(self._request, name_of(self._viewer)):
            return False
        try:
            self._viewer = await viewer_of(self._request)
        except Exception as error:
            if not is_outage(error):
                raise
        return True
