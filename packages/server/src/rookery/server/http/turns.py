"""Makes people's requests take turns, so that workers' calls need not wait behind them.

Two hundred people who reload at once, or who all receive a new version of a part, cause two hundred
pieces of work of half a millisecond each. Started in one iteration of the event loop, they block it
for a tenth of a second, and a worker's beat that arrives meanwhile waits for all of them. With
turns, one of them runs per iteration, and other events are handled in between.

Searches without an index occupy a database connection for seconds. Only a few may run at a time, so
that there are connections left for everybody else.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rookery.server.http.faults import SearchTooSlow

SEARCHES_AT_ONCE = 3
"""How many searches may run at once. The pool has ten connections."""
LONGEST_WAIT_SECONDS = 3.0


class Turns:
    """Limits how many callers continue in one iteration of the loop. There is one per site, used on
    the event loop only."""

    def __init__(self, at_once: int = 1) -> None:
        self._at_once = at_once
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._left = at_once
        self._is_counting = False

    def __len__(self) -> int:
        """The number of waiting callers."""
        return len(self._waiting)

    async def take(self) -> None:
        """Return in this iteration of the loop, or in a later one if others are first."""
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
    """Limits searches of unknown cost. There is one per site, used on the event loop only."""

    def __init__(
        self, at_once: int = SEARCHES_AT_ONCE, *, seconds: float = LONGEST_WAIT_SECONDS
    ) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._seconds = seconds

    @asynccontextmanager
    async def enter(self, *, has_index: bool = False) -> AsyncIterator[None]:
        """Hold a place for the length of the block; searches with an index need none. Raises
        SearchTooSlow if no place becomes free in time, or if a query in the block exceeds its time
        limit."""
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
