"""Gives back memory that has piled up in garbage.

The server's garbage collector hardly ever examines what has lived for long (`run.collect_rarely`).
Requests of a busy minute live for long too: they wait for one another, and their cycles then stay
for ever. So everything is examined whenever the process has grown by much. What survives is
examined again the next time: requests that still wait are part of it, and their cycles end later.
"""

import gc
import os
from collections.abc import Callable
from pathlib import Path

from rookery.core.boundary.offload import Threads
from rookery.server.boundary.domains import Domain, runs
from rookery.server.logs import Log

GROWN_BYTES = 64 * 1024 * 1024
GROWN_PART = 4
"""A process grows by at least so many bytes, and by at least this part of itself, before everything
is examined: all examinations together then cost no more than a few times the last one."""
STATM = Path("/proc/self/statm")


def own_bytes() -> int:
    """The memory that this process has written; 0 where the system doesn't say."""
    try:
        _, resident, shared, *_ = map(int, STATM.read_text().split())
    except OSError:
        return 0
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


@runs(Domain.THREAD, "asks the system in a thread; a collection, which stops all, is rare")
class GrownMemory:
    """Collects garbage once the process has grown by much since the last time."""

    def __init__(self, threads: Threads, log: Log, used: Callable[[], int] = own_bytes) -> None:
        self._threads = threads
        self._log = log
        self._used = used
        self._least: int | None = None

    async def __call__(self) -> None:
        used = await self._threads.io(self._used)
        self._least = used if self._least is None else min(used, self._least)
        if used - self._least >= max(GROWN_BYTES, self._least // GROWN_PART):
            found = gc.collect()
            self._least = await self._threads.io(self._used)
            self._log.info("garbage_collected", objects=found, before=used, after=self._least)
