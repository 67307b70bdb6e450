"""Turns: whoever can wait a little goes one after the other, so that machines need not wait.

Two hundred people who reload, or who were shown a part at the same moment, are two hundred pieces
of work of half a millisecond each. Begun in one round of the event loop they hold it for a tenth of
a second, and the beat of a machine that comes meanwhile waits for all of them. With turns a round
has one of them in it, and whatever else has come is looked at between two.

Searches that no index helps take seconds of a connection to the database each. A few may go at a
time, so that there are connections left for everybody else.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rookery.web.faults import SearchTooSlow

SEARCHES_AT_ONCE = 3
"""Of ten connections."""
LONGEST_WAIT_SECONDS = 3.0


class Turns:
    """One per site; the event loop alone uses it."""

    def __init__(self, at_once: int = 1) -> None:
        self._at_once = at_once
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._left = at_once
        self._is_counting = False

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    async def take(self) -> None:
        """Comes back in this round of the loop, or in a later one where others were first."""
        loop = asyncio.get_running_loop()
        if not self._is_counting:
            self._is_counting = True
            loop.call_soon(self._begin_round)
        if self._left and not self._waiting:
            self._left -= 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _begin_round(self) -> None:
        self._left = self._at_once
        self._is_counting = bool(self._waiting)
        while self._left and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._left -= 1
        if self._is_counting:
            asyncio.get_running_loop().call_soon(self._begin_round)


class SearchPlaces:
    """For searches whose cost nobody knows before. One per site; the event loop alone uses it."""

    def __init__(
        self, at_once: int = SEARCHES_AT_ONCE, *, seconds: float = LONGEST_WAIT_SECONDS
    ) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._seconds = seconds

    @asynccontextmanager
    async def enter(self, *, has_index: bool = False) -> AsyncIterator[None]:
        """A place for the length of the block, which a search with an index does without. Raises
        SearchTooSlow where none is free for too long, and where what is asked in the block runs
        into its limit of time."""
        try:
            if has_index:
                yield
                return
            async with asyncio.timeout(self._seconds):
                await self._free.acquire()
            try:
                yield
            finally:
                self._free.release()
        except TimeoutError:
            raise SearchTooSlow from None
