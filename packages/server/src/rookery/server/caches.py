"""A cache with expiry, work done once for several callers, and reloading after changes by another
process."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rookery.core.clock import Clock
from rookery.server.logs import Log

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _CachedValue(Generic[V]):
    value: V
    until: float


class ExpiringCache(Generic[K, V]):
    """Values by key, each with its own expiry; when there are too many, the oldest are removed
    first. Only the event loop writes to it."""

    def __init__(self, clock: Clock, most: int) -> None:
        self._clock = clock
        self._most = most
        self._kept: OrderedDict[K, _CachedValue[V]] = OrderedDict()
        self.forget_count = 0
        """The number of calls of `forget` and `forget_all`. A value that was read before the number
        changed may be out of date."""

    def get(self, key: K) -> V | None:
        kept = self._kept.get(key)
        return kept.value if kept is not None and kept.until > self._clock.seconds() else None

    def put(self, key: K, value: V, seconds: float) -> None:
        self._kept[key] = _CachedValue(value, self._clock.seconds() + seconds)
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def forget(self, key: K) -> None:
        self.forget_count += 1
        self._kept.pop(key, None)

    def forget_all(self) -> None:
        self.forget_count += 1
        self._kept.clear()


# Work that several callers want at the same time and that is done once for all of them.


class SharedWork(Generic[K, V]):
    """Work in progress by key, done once for all callers of a key. Only the event loop uses it.

    A cancelled caller does not cancel the work that others wait for.
    """

    def __init__(self) -> None:
        self._running: dict[K, asyncio.Task[V]] = {}

    def is_running(self, key: K) -> bool:
        return key in self._running

    async def __call__(self, key: K, work: Callable[[], Coroutine[Any, Any, V]]) -> V:
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.ensure_future(work())
            task.add_done_callback(lambda ended: self._end(key, ended))
        return await asyncio.shield(task)

    def _end(self, key: K, ended: "asyncio.Task[V]") -> None:
        del self._running[key]
        if not ended.cancelled():
            # Retrieve the exception even if every caller has left, or asyncio logs it as never
            # retrieved.
            ended.exception()


# Reloading after another process has changed something.


class Refresher:
    """Calls `load` after a change, and once more for all changes during that call. The event loop
    alone uses it."""

    def __init__(self, load: Callable[[], Awaitable[None]], log: Log) -> None:
        self._load = load
        self._log = log
        self._due = False
        self._task: asyncio.Task[None] | None = None

    def schedule(self, _what: str = "") -> None:
        self._due = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="refresh")

    async def _work(self) -> None:
        while self._due:
            self._due = False
            try:
                await self._load()
            except Exception as error:  # noqa: BLE001 - the next notice brings another attempt
                self._log.warning("not_refreshed", why=repr(error))
