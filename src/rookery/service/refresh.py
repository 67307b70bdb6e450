"""Reads again what another process may have changed, soon after it was told."""

import asyncio
from collections.abc import Awaitable, Callable

from rookery.logs import Log


class Refresh:
    """However often it is told while it reads, it reads once more. The event loop alone uses it."""

    def __init__(self, load: Callable[[], Awaitable[None]], log: Log) -> None:
        self._load = load
        self._log = log
        self._due = False
        self._task: asyncio.Task[None] | None = None

    def soon(self, _what: str = "") -> None:
        self._due = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="refresh")

    async def _work(self) -> None:
        while self._due:
            self._due = False
            try:
                await self._load()
            except Exception as error:  # noqa: BLE001 - the next tidings bring another attempt
                self._log.warning("not_refreshed", why=repr(error))
