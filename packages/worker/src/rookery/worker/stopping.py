"""How a worker is asked to stop, the status that it shows, and the delays between its attempts."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from rookery.core.model.task import NOTHING, Results


class Stop:
    """Whether the worker was asked to stop. Set by signals on the loop, read by everything that
    waits."""

    def __init__(self, grace_seconds: float) -> None:
        self.grace_seconds = grace_seconds
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()

    def ask(self) -> None:
        (self.at_once if self.asked.is_set() else self.asked).set()

    async def rest(self, seconds: float) -> bool:
        """Wait this long, or until asked to stop. Returns whether it was asked."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.asked.wait(), seconds)
        return self.asked.is_set()


async def wait_for_first(
    task: "asyncio.Task[Any]", *events: asyncio.Event, seconds: float | None = None
) -> None:
    """Wait for the task or for any of the events. The task continues in any case."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait((task, *waits), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel_and_wait(*waits)


async def cancel_and_wait(*tasks: "asyncio.Task[Any]") -> None:
    """Cancel the tasks that still run, and wait for their end."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """The present activity of the worker."""

    doing: str
    run: str = ""
    results: Results = NOTHING
    games: int = 0
    """The number of games of the task."""


class Watcher(Protocol):
    """Receives sentences to keep, and the status whenever it changes."""

    def say(self, sentence: str) -> None: ...

    def show(self, status: WorkerStatus) -> None: ...


# The delays before asking again: doubled each time, and different for each worker.

FIRST_SECONDS = 15.0
LONGEST_SECONDS = 900.0
IDLE_FIRST_SECONDS = 2.0
IDLE_LONGEST_SECONDS = 60.0
JITTER = 0.25


class Backoff:
    """A series of delays; a success resets it. Each delay is up to a quarter shorter or longer at
    random, so that a fleet does not return at one moment."""

    def __init__(self, first: float, longest: float, chance: Callable[[], float]) -> None:
        self._first = first
        self._longest = longest
        self._chance = chance
        self._next = first

    def seconds(self) -> float:
        """Return the next delay."""
        wait, self._next = self._next, min(2 * self._next, self._longest)
        return wait * (1 - JITTER + 2 * JITTER * self._chance())

    def reset(self) -> None:
        self._next = self._first
