"""How a worker is asked to leave: once to finish what ends soon, twice to leave at once."""

import asyncio
import contextlib
from typing import Any


class Stop:
    """Written by signals on the loop, read by everything that waits."""

    def __init__(self, grace_seconds: float) -> None:
        self.grace_seconds = grace_seconds
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()

    def ask(self) -> None:
        (self.at_once if self.asked.is_set() else self.asked).set()

    async def rest(self, seconds: float) -> bool:
        """Wait so long, or until asked to stop; whether it was asked."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.asked.wait(), seconds)
        return self.asked.is_set()


async def first_of(
    task: "asyncio.Task[Any]", *events: asyncio.Event, seconds: float | None = None
) -> None:
    """Wait for the task or for any of the events; the task goes on in any case."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait((task, *waits), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await ended(*waits)


async def ended(*tasks: "asyncio.Task[Any]") -> None:
    """Cancel what still runs and wait until it has gone."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
