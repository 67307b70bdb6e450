"""Carries events from the tasks that play to the one who watches."""

import asyncio
from collections.abc import AsyncIterator

from rookery.worker.match.events import Event


class Feed:
    """A queue of events with an end, or with a fault instead of one."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event | Exception | None] = asyncio.Queue()

    def tell(self, event: Event) -> None:
        self._queue.put_nowait(event)

    def fail(self, fault: Exception) -> None:
        self._queue.put_nowait(fault)

    def end(self) -> None:
        self._queue.put_nowait(None)

    async def events(self) -> AsyncIterator[Event]:
        while (event := await self._queue.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event
