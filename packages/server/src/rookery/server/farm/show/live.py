"""Live parts of pages: fetched once, or sent again whenever they have changed.

A page's script opens the address of its part as an event stream and receives the part as HTML. All
who may see the same get the same compressed bytes. Without a stream, the same address returns the
part once.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from functools import partial
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.model.run import Run
from rookery.server.app.site import Site
from rookery.server.engines.privacy import name_of
from rookery.server.farm.events import Wanted
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.views import UnknownRun
from rookery.server.http.answers import site_of
from rookery.server.http.faults import NotFound
from rookery.server.http.fragments import RenderedPart
from rookery.server.http.packing import GZIP_HEAD, pack_piece, takes_gzip
from rookery.server.http.pages.page import answer_part, keep, render_part, viewer_of
from rookery.server.runs.events_api import (
    AGAIN_SECONDS,
    FAREWELL,
    HEADERS,
    KEEP_ALIVE_SECONDS,
    MEDIA_TYPE,
    NOT_NOW,
    EventStream,
    choose_retry,
    is_welcome,
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


async def answer_live(
    request: Request, find: FindPart, *, run: str = "", pause: float = 0.0
) -> Response:
    """The part that `find` returns: once, or in a stream after every change of this run (of any run
    if none is given), with a pause of so many seconds between two."""
    viewer = await viewer_of(request)
    if MEDIA_TYPE not in request.headers.get("accept", ""):
        return answer_part(request, await find(viewer))
    packed = takes_gzip(request.headers.get("accept-encoding", ""))
    stream = PartStream(request, viewer, find, Wanted(run), pause, packed=packed)
    # Refuse what the viewer may not see before a stream begins.
    await find(viewer)
    if packed:
        return EventStream(stream.write(), site_of(request), PACKED_HEADERS, PACKED_FAREWELL)
    return EventStream(stream.write(), site_of(request))


async def answer_live_list(
    request: Request,
    template: str,
    load: Callable[[Actor | None], Awaitable[M]],
    sight: Callable[[Actor | None], Hashable],
    *,
    pause: float,
    make: Callable[[M], object] = keep,
) -> Response:
    """A part that any run may change, rendered once for all viewers with equal `sight`. `make`
    computes in the thread what is expensive."""
    site = site_of(request)

    async def find(viewer: Actor | None) -> RenderedPart:
        async def render() -> RenderedPart:
            return await render_part(site, template, make, await load(viewer))

        async def find_key() -> Hashable:
            return (template, sight(viewer))

        return await site.shared_parts.find_newest(find_key, lambda: site.bus.seen, render)

    return await answer_live(request, find, pause=pause)


async def answer_live_run(
    request: Request,
    template: str,
    make: Callable[[M], object],
    load: Callable[[Run, Actor | None], Awaitable[M]],
) -> Response:
    """A part about the run in the address, rendered once for all who may see the same of it. The
    run is loaded once for each change of it; what the viewer may see is decided anew each time."""
    site, run_id = site_of(request), str(request.path_params["run_id"])

    def find_change() -> int:
        return site.bus.last_change(run_id)

    async def find(viewer: Actor | None) -> RenderedPart:
        name, privacy = name_of(viewer), site.privacy
        known = LoadedRun(partial(site.visible_runs.find, run_id, name), find_change)

        async def find_seen() -> Run:
            run = await known.find()
            if not privacy.may_see(name, run):
                raise UnknownRun(run=run_id)
            return privacy.visible_part(viewer, run)

        async def find_key() -> Hashable:
            run = await find_seen()
            sight = (privacy.may_read_sources(viewer, run), privacy.is_insider(viewer, run))
            return (template, run.id, privacy.hidden(name), sight)

        async def render() -> RenderedPart:
            return await render_part(site, template, make, await load(await find_seen(), viewer))

        return await site.shared_parts.find_newest(find_key, find_change, render)

    return await answer_live(request, find, run=run_id)


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
        request: Request,
        viewer: Actor | None,
        find: FindPart,
        wanted: Wanted,
        pause: float,
        *,
        packed: bool,
    ) -> None:
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
        site, begun = site_of(self._request), choose_retry() + b"\n"
        yield GZIP_HEAD + pack_piece(begun) if self._packed else begun
        with site.bus.subscribe(self._wanted) as subscription:
            looked = site.clock.seconds()
            while True:
                if (told := await self._tell(site)) is None:
                    return
                yield told
                await asyncio.sleep(self._pause)
                if not self._owes:
                    await next_notice(subscription, KEEP_ALIVE_SECONDS)
                await site.turns.take()
                if site.clock.seconds() - looked >= KEEP_ALIVE_SECONDS:
                    looked = site.clock.seconds()
                    if not await self._look_again(site):
                        return

    async def _tell(self, site: Site) -> bytes | None:
        """The next event: the part if it has changed, else a sign of life. None if the viewer may
        no longer see the part."""
        try:
            part = await self._find(self._viewer)
        except (NotFound, UnknownRun):
            return None
        except Exception as error:
            if not (isinstance(error, NOT_NOW) or site.is_outage(error)):
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

    async def _look_again(self, site: Site) -> bool:
        """Check the viewer again, who may have been blocked or got other permissions. Returns
        whether the stream may continue."""
        if not await is_welcome(site, self._request, name_of(self._viewer)):
            return False
        try:
            self._viewer = await viewer_of(self._request)
        except Exception as error:
            if not site.is_outage(error):
                raise
        return True
