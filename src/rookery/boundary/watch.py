"""Watches how late the loop is, and shows what it is doing when it does not answer.

A thread asks the loop for a sign of life a few times a second and notes how long it took. When
none comes within the threshold, the thread looks at the loop's stack at that very moment and
reports it, and again each time the blockage has lasted twice as long. Between two questions
both sleep, so that an idle process stays idle.
"""

import asyncio
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Thread, get_ident
from time import perf_counter
from types import TracebackType
from typing import Self

from anyio import CancelScope, to_thread

from rookery.boundary.histogram import Histogram

__all__ = ["Blockage", "LoopWatch"]


@dataclass(frozen=True, slots=True)
class Blockage:
    """The loop did not answer for so long, and this is what it was doing."""

    seconds: float
    stack: str


class LoopWatch:
    """An async context manager that watches the running loop for the length of its block."""

    def __init__(
        self,
        report: Callable[[Blockage], None],
        *,
        interval_seconds: float = 0.25,
        threshold_seconds: float = 0.1,
    ) -> None:
        self._report = report
        self._interval = interval_seconds
        self._threshold = threshold_seconds
        self._lags = Histogram()
        self._longest = 0.0
        self._stop = Event()
        self._answered = Event()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._loop_thread = get_ident()
        self._thread = Thread(target=self._watch, name="loop watch", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._answered.set()
        with CancelScope(shield=True):
            await to_thread.run_sync(self._thread.join)

    def histogram(self) -> Histogram:
        """How late the loop was, one value per question."""
        return self._lags

    @property
    def longest(self) -> float:
        """The longest time in seconds that the loop took to answer."""
        return self._longest

    def _watch(self) -> None:
        while not self._stop.wait(self._interval):
            self._answered.clear()
            if self._stop.is_set():
                return
            asked = perf_counter()
            try:
                self._loop.call_soon_threadsafe(self._answer, asked)
            except RuntimeError:
                return  # the loop was closed without the watch being left
            self._await_answer(asked)

    def _await_answer(self, asked: float) -> None:
        patience = self._threshold
        while not self._answered.wait(asked + patience - perf_counter()):
            self._report(Blockage(perf_counter() - asked, _stack_of(self._loop_thread)))
            patience *= 2

    def _answer(self, asked: float) -> None:
        """On the loop: the sign of life. The loop alone writes the figures."""
        late = perf_counter() - asked
        self._lags = self._lags.with_one(late)
        self._longest = max(self._longest, late)
        self._answered.set()


def _stack_of(thread: int) -> str:
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - the documented way, despite its name
    return "".join(traceback.format_stack(frame)) if frame else "the thread has ended"
