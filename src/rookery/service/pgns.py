"""Games as workers upload them: gzip streams, several per task if need be."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.core.answers import TaskCall
from rookery.service.blobs import Blobs
from rookery.service.fleet.views import Views

AT_A_TIME = 200
ORPHAN_SECONDS = 86_400.0
"""A blob this old without a row will not get one any more."""


@dataclass(frozen=True, slots=True)
class Pgn:
    """One upload; the games themselves lie in a blob."""

    run: str
    task: int
    blob: str
    size: int
    at: datetime


class Pgns(Protocol):
    """The rows. Any process may write them."""

    async def add(self, pgn: Pgn) -> None: ...

    async def of_task(self, run_id: str, task_id: int) -> tuple[Pgn, ...]:
        """In the order they came in."""
        ...

    async def of_run(self, run_id: str) -> tuple[Pgn, ...]:
        """In the order of the tasks, and in each as they came in."""
        ...

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        """Those of the keys that a row names."""
        ...

    async def expired(self, now: datetime, limit: int) -> tuple[Pgn, ...]:
        """Uploads that have been kept for as long as contract 3.8 says."""
        ...

    async def forget(self, keys: Collection[str]) -> None:
        """The rows of these blobs are no longer needed."""
        ...


class PgnStore:
    """Takes games in, and lets them go when their time is up."""

    def __init__(
        self, fleet: Views, rows: Pgns, blobs: Blobs, threads: Threads, clock: Clock
    ) -> None:
        self._fleet = fleet
        self._rows = rows
        self._blobs = blobs
        self._threads = threads
        self._clock = clock

    async def upload(self, call: TaskCall, data: bytes) -> None:
        """Games of a task of the caller's own, which has usually ended by now."""
        await self._fleet.own_task(call)
        key = await self._threads.io(self._blobs.write, data)
        await self._rows.add(Pgn(call.run, call.task, key, len(data), self._clock.now()))

    async def clean_up(self) -> None:
        """Lets go what was kept long enough, and blobs that no row ever came to name."""
        while expired := await self._rows.expired(self._clock.now(), AT_A_TIME):
            keys = [pgn.blob for pgn in expired]
            await self._rows.forget(keys)
            await self._threads.io(self._remove, keys)
        await self._sweep()

    async def _sweep(self) -> None:
        old = await self._threads.io(lambda: list(self._blobs.older_than(ORPHAN_SECONDS)))
        for start in range(0, len(old), AT_A_TIME):
            part = old[start : start + AT_A_TIME]
            named = await self._rows.known(part)
            await self._threads.io(self._remove, [key for key in part if key not in named])

    def _remove(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._blobs.remove(key)
