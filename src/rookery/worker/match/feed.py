"""Carries events from the task that plays a match to the one that watches it."""

import abc
import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Self

from rookery.worker.match.events import Event


class FedMatch(abc.ABC):
    """A match played by a task of its own, which feeds a queue of events with an end or a fault."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event | Exception | None] = asyncio.Queue()

    @abc.abstractmethod
    async def _play(self) -> None:
        """Play to the end, telling events; cancelled when nobody watches any longer."""

    async def __aenter__(self) -> Self:
        self._playing = asyncio.create_task(self._feed())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._playing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._playing

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        while (event := await self._queue.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event

    def _tell(self, event: Event) -> None:
        self._queue.put_nowait(event)

    async def _feed(self) -> None:
        try:
            await self._play()
        except Exception as fault:  # noqa: BLE001 - it is raised again where the match is watched
            self._queue.put_nowait(fault)
        else:
            self._queue.put_nowait(None)
