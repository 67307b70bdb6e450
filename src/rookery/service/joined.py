"""Work that several callers want at the same time and that is done once for all of them."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Joined(Generic[K, V]):
    """What is being done, by key; the event loop alone writes here.

    A caller that leaves does not end the work that others wait for.
    """

    def __init__(self) -> None:
        self._running: dict[K, asyncio.Task[V]] = {}

    async def __call__(self, key: K, work: Callable[[], Coroutine[Any, Any, V]]) -> V:
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.ensure_future(work())
            task.add_done_callback(lambda ended: self._end(key, ended))
        return await asyncio.shield(task)

    def _end(self, key: K, ended: "asyncio.Task[V]") -> None:
        del self._running[key]
        if not ended.cancelled():
            # Looked at here too: every caller may have left by now.
            ended.exception()
