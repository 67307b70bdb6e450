"""Live parts of pages, rendered once per change and shared by all who may see the same.

A thousand browsers that show one list ask for it again whenever something changes. The list depends
only on what its readers may see, so it is rendered and compressed once and shared. What is personal
(CSRF tokens, messages) stands outside of it, on the surrounding page. Pages that stay open receive
the part in an event stream, and the same compressed bytes go to all of them.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from rookery.core.clock import Clock
from rookery.server.caches import ExpiringCache, SharedWork
from rookery.server.http.packing import pack, pack_piece
from rookery.server.http.turns import Turns

LEAST_SECONDS = 1.0
"""A part is rendered at most this often, however often it changes."""
MOST_SECONDS = 5.0
"""A rendered part is kept no longer than this, because the times in it get out of date."""
STALE_SECONDS = 2.0
"""While the next version is being rendered, a newly opened page may show one of at most this
age."""
MOST_KEPT = 500
FIXED_SECONDS = 3600.0
"""How long a part is kept that depends on its key alone."""
MOST_FIXED = 200


@dataclass(frozen=True, slots=True)
class RenderedPart:
    """A rendered part: as text, compressed, and as a compressed stream event, with facts about it
    for the surrounding page."""

    text: str
    packed: bytes
    packed_event: bytes = b""
    facts: object = None

    @property
    def event(self) -> bytes:
        """The part as an event of an uncompressed stream."""
        return make_event(self.text)


def make_part(text: str, facts: object = None) -> RenderedPart:
    """Compress a part. To be called in the thread that rendered it."""
    return RenderedPart(text, pack(text.encode()), pack_piece(make_event(text)), facts)


def make_event(text: str) -> bytes:
    """Encode a text as an event. Each of its lines becomes a line of data, which browsers join
    again."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "".join(("event: part\n", *(f"data: {line}\n" for line in lines), "\n")).encode()


@dataclass(frozen=True, slots=True)
class _KeptPart:
    part: RenderedPart
    position: int
    made: float


FindKey = Callable[[], Awaitable[Hashable]]
"""Finds what the part of some reader depends on at present."""
Render = Callable[[], Awaitable[RenderedPart]]
MOST_ATTEMPTS = 3


class PermissionsChanged(Exception):
    """The reader's permissions have changed while the part was rendered."""


class SharedParts:
    """A cache of rendered parts by what they depend on. Used on the event loop only."""

    def __init__(self, clock: Clock, turns: Turns) -> None:
        self._clock = clock
        self._turns = turns
        self._kept: ExpiringCache[Hashable, _KeptPart] = ExpiringCache(clock, MOST_KEPT)
        self._working: SharedWork[Hashable, _KeptPart] = SharedWork()
        self._fixed: ExpiringCache[Hashable, RenderedPart] = ExpiringCache(clock, MOST_FIXED)
        self._fixing: SharedWork[Hashable, RenderedPart] = SharedWork()
        self.renderings = 0

    async def find_newest(
        self, find_key: FindKey, position: Callable[[], int], render: Render
    ) -> RenderedPart:
        """A part that includes all changes up to the call, as counted by `position`. A reader who
        asks right after it was rendered waits a moment, so that all who do share the next
        version."""

        async def find(key: Hashable) -> RenderedPart:
            return await self._find_newest(key, position, lambda: _make_for(key, find_key, render))

        return await _find_for(find_key, find, render)

    async def _find_newest(
        self, key: Hashable, position: Callable[[], int], render: Render
    ) -> RenderedPart:
        wanted = position()
        kept = self._kept.get(key)
        while kept is None or kept.position < wanted:
            if kept is not None:
                await asyncio.sleep(kept.made + LEAST_SECONDS - self._clock.seconds())
                await self._turns.take()
                kept = self._kept.get(key)
                if kept is not None and kept.position >= wanted:
                    break
            kept = await self._work(key, position, render)
        return kept.part

    async def find_recent(
        self, find_key: FindKey, position: Callable[[], int], render: Render
    ) -> RenderedPart:
        """A part for a page that is being opened. An outdated one is returned if it is at most a
        second old, or two seconds while the next version is being rendered for others."""

        async def find(key: Hashable) -> RenderedPart:
            return await self._find_recent(key, position, lambda: _make_for(key, find_key, render))

        return await _find_for(find_key, find, render)

    async def _find_recent(
        self, key: Hashable, position: Callable[[], int], render: Render
    ) -> RenderedPart:
        kept = self._kept.get(key)
        if kept is not None:
            age = self._clock.seconds() - kept.made
            soon = age < STALE_SECONDS and self._working.is_running(key)
            if age < LEAST_SECONDS or soon or kept.position >= position():
                return kept.part
        return (await self._work(key, position, render)).part

    async def find_fixed(self, key: Hashable, render: Render) -> RenderedPart:
        """A part that depends on its key alone, such as a page of the documentation."""
        part = self._fixed.get(key)
        if part is None:
            part = await self._fixing(key, lambda: self._make_fixed(key, render))
        return part

    async def _make_fixed(self, key: Hashable, render: Render) -> RenderedPart:
        part = await render()
        self.renderings += 1
        self._fixed.put(key, part, FIXED_SECONDS)
        return part

    def forget(self, key: Hashable) -> None:
        """Drop a part, for a reader who has just changed something and wants to see it."""
        self._kept.forget(key)

    async def _work(self, key: Hashable, position: Callable[[], int], render: Render) -> _KeptPart:
        kept = await self._working(key, lambda: self._make(key, position, render))
        # All who waited continue now and each has an answer to send, so they take turns.
        await self._turns.take()
        return kept

    async def _make(self, key: Hashable, position: Callable[[], int], render: Render) -> _KeptPart:
        # Read first: the part may or may not include changes made while it is rendered.
        before = position()
        part = await render()
        self.renderings += 1
        kept = _KeptPart(part, before, self._clock.seconds())
        self._kept.put(key, kept, MOST_SECONDS)
        return kept


async def _find_for(
    find_key: FindKey, find: Callable[[Hashable], Awaitable[RenderedPart]], render: Render
) -> RenderedPart:
    """The shared part of a reader. It is looked up again if their permissions change meanwhile;
    after several changes they get one that is rendered for them alone."""
    for _ in range(MOST_ATTEMPTS):
        with contextlib.suppress(PermissionsChanged):
            return await find(await find_key())
    return await render()


async def _make_for(key: Hashable, find_key: FindKey, render: Render) -> RenderedPart:
    """Render a part to be shared by readers with the same key. Raises PermissionsChanged if the key
    of the reader it is rendered for has changed."""
    try:
        part = await render()
    except Exception:
        if await _is_still(key, find_key):
            raise
        raise PermissionsChanged from None
    if not await _is_still(key, find_key):
        raise PermissionsChanged
    return part


async def _is_still(key: Hashable, find_key: FindKey) -> bool:
    try:
        return await find_key() == key
    except Exception:  # noqa: BLE001 - who asks is told when the key is asked for again
        return False
