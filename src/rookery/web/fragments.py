"""Parts of pages that move, made once per change for all who may see the same.

A thousand browsers that watch one list ask for it again whenever something changed. What they are
sent depends on nothing but what they may see, so it is rendered and packed once and shared; what
is somebody's own (the token of a form, messages) stands outside of it, on the page around it.
Those who watch are sent the part itself, in a stream of events: the same packed bytes to everybody.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from rookery.caches import ExpiringCache, SharedWork
from rookery.clock import Clock
from rookery.web.packing import pack, pack_piece
from rookery.web.turns import Turns

LEAST_SECONDS = 1.0
"""A part is made at most this often, however much happens."""
MOST_SECONDS = 5.0
"""And at least so often when somebody asks: times grow old."""
STALE_SECONDS = 2.0
"""A page that is opened shows one so old while the next is being made."""
MOST_KEPT = 500


@dataclass(frozen=True, slots=True)
class RenderedPart:
    """The part as text and by gzip, as an event packed for a stream, and with facts about it for
    the page around it."""

    text: str
    packed: bytes
    packed_event: bytes = b""
    facts: object = None

    @property
    def event(self) -> bytes:
        """The part as an event of a stream that is not packed."""
        return make_event(self.text)


def make_part(text: str, facts: object = None) -> RenderedPart:
    """Packs a part, which is for the thread that rendered it."""
    return RenderedPart(text, pack(text.encode()), pack_piece(make_event(text)), facts)


def make_event(text: str) -> bytes:
    """Every line break in a text begins a line of data, as browsers put them together again."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "".join(("event: part\n", *(f"data: {line}\n" for line in lines), "\n")).encode()


@dataclass(frozen=True, slots=True)
class _KeptPart:
    part: RenderedPart
    position: int
    made: float


FindKey = Callable[[], Awaitable[Hashable]]
"""Tells what the part of somebody depends on, as it is at the moment."""
Render = Callable[[], Awaitable[RenderedPart]]
MOST_ATTEMPTS = 3


class SightChanged(Exception):
    """Whoever a part was made for may see other things by now than those it is kept for."""


class SharedParts:
    """Keeps rendered parts by what they depend on. The event loop alone uses it."""

    def __init__(self, clock: Clock, turns: Turns) -> None:
        self._clock = clock
        self._turns = turns
        self._kept: ExpiringCache[Hashable, _KeptPart] = ExpiringCache(clock, MOST_KEPT)
        self._working: SharedWork[Hashable, _KeptPart] = SharedWork()
        self.renderings = 0

    async def find_newest(
        self, find_key: FindKey, position: Callable[[], int], render: Render
    ) -> RenderedPart:
        """A part no older than the last change at the time of asking, `position`; who asks right
        after it was made waits a moment, so that all who do share the next."""

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
        """A part for a page that is opened: at once, and a second old at the most where it is not
        the newest, or two seconds while the next is being made for others."""

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

    def forget(self, key: Hashable) -> None:
        """For somebody who has just changed something and wants to see it."""
        self._kept.forget(key)

    async def _work(self, key: Hashable, position: Callable[[], int], render: Render) -> _KeptPart:
        kept = await self._working(key, lambda: self._make(key, position, render))
        # All who waited for it go on now, and each has an answer to send.
        await self._turns.take()
        return kept

    async def _make(self, key: Hashable, position: Callable[[], int], render: Render) -> _KeptPart:
        # Asked before: what changes meanwhile may be in it or not.
        before = position()
        part = await render()
        self.renderings += 1
        kept = _KeptPart(part, before, self._clock.seconds())
        self._kept.put(key, kept, MOST_SECONDS)
        return kept


async def _find_for(
    find_key: FindKey, find: Callable[[Hashable], Awaitable[RenderedPart]], render: Render
) -> RenderedPart:
    """The shared part of somebody, looked for again when what they may see changes meanwhile; one
    that nobody else is given where it changes without end."""
    for _ in range(MOST_ATTEMPTS):
        with contextlib.suppress(SightChanged):
            return await find(await find_key())
    return await render()


async def _make_for(key: Hashable, find_key: FindKey, render: Render) -> RenderedPart:
    """Makes a part that others with the same key are given; raises SightChanged where whoever it
    is made for has another key by now."""
    try:
        part = await render()
    except Exception:
        if await _is_still(key, find_key):
            raise
        raise SightChanged from None
    if not await _is_still(key, find_key):
        raise SightChanged
    return part


async def _is_still(key: Hashable, find_key: FindKey) -> bool:
    try:
        return await find_key() == key
    except Exception:  # noqa: BLE001 - who asks is told when the key is asked for again
        return False
