"""Does something while its cost is looked at from time to time, and gives it up when too high."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from rookery.boundary.offload import Threads

T = TypeVar("T")
LOOK_SECONDS = 2.0


class Excess(Exception):
    """it takes more than it may"""


async def guarded(
    work: Coroutine[Any, Any, T],
    excess: Callable[[], str],
    threads: Threads,
    seconds: float = LOOK_SECONDS,
) -> T:
    """What the work gives; raises Excess with the words that `excess` finds, in a thread."""
    running = asyncio.create_task(work)
    try:
        while not (await asyncio.wait((running,), timeout=seconds))[0]:
            if why := await threads.io(excess):
                raise Excess(why)
        return running.result()
    finally:
        running.cancel()
        await asyncio.wait((running,))
