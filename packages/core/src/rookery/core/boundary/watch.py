"""Measures how late the event loop answers, and reports what it is doing when it does not.

A thread schedules a callback on the loop a few times a second and measures how long it takes to
run. When it has not run within the threshold, the thread takes the loop's stack at that moment and
reports it, and reports again each time the blockage has lasted twice as long. Between two checks
both sleep, so that an idle process stays idle.

The thread also knows when it meant to wake. When it wakes much later, another thread held the
interpreter lock (in a regular expression or a C library) and neither loop nor watch could run. That
is reported and counted separately.
"""

import asyncio
import math
import sys
import traceback
from bisect import bisect_left
from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Event, Thread, get_ident
from threading import enumerate as enumerate_threads
from time import perf_counter, process_time
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from anyio import CancelScope, to_thread

# Counts of durations in fixed buckets, from which quantiles can be read.

# In seconds: narrow buckets for a healthy loop, wide ones for a slow one.
BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many durations fell into each bucket. The last bucket counts those above all bounds."""

    bounds: tuple[float, ...] = BOUNDS
    counts: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    total_seconds: float = 0.0

    @property
    def count(self) -> int:
        return sum(self.counts)

    def with_one(self, seconds: float) -> "Histogram":
        """Return a copy of this histogram with one more duration."""
        bucket = bisect_left(self.bounds, seconds)
        counts = (*self.counts[:bucket], self.counts[bucket] + 1, *self.counts[bucket + 1 :])
        return Histogram(self.bounds, counts, self.total_seconds + seconds)

    def quantile(self, share: float) -> float:
        """Return the upper bound of the bucket in which this share of the durations is reached."""
        wanted = share * self.count
        seen = 0
        for bound, count in zip((*self.bounds, math.inf), self.counts, strict=True):
            seen += count
            if seen >= wanted:
                return bound
        return math.inf


__all__ = ["Blockage", "InterpreterStall", "LoopWatch"]


@dataclass(frozen=True, slots=True)
class Blockage:
    """A period in which the loop did not answer, with its duration and the loop's stack."""

    seconds: float
    stack: str


@dataclass(frozen=True, slots=True)
class InterpreterStall:
    """A period in which the watching thread woke too late, with its duration and the stack of each
    thread.

    If the process used CPU time meanwhile, one of its own threads held it up. If not, it waited for
    the machine, or for a thread that slept without releasing the interpreter lock.
    """

    seconds: float
    computed_seconds: float
    places: tuple[str, ...]


def ignore(holdup: InterpreterStall) -> None:
    """Do nothing: the default for holdups."""


class LoopWatch:
    """An async context manager that watches the running loop for the length of its block."""

    def __init__(
        self,
        report: Callable[[Blockage], None],
        report_holdup: Callable[[InterpreterStall], None] = ignore,
        *,
        interval_seconds: float = 0.25,
        threshold_seconds: float = 0.1,
    ) -> None:
        self._report = report
        self._report_holdup = report_holdup
        self._interval = interval_seconds
        self._threshold = threshold_seconds
        self._lags = Histogram()
        self._longest = 0.0
        self._recent = 0.0
        self._holdups = Histogram()
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
        """Return the loop's latencies, one value per check."""
        return self._lags

    @property
    def longest(self) -> float:
        """The longest latency of the loop, in seconds."""
        return self._longest

    def take_longest_since_last_call(self) -> float:
        """Return the longest latency since the previous call of this method."""
        recent, self._recent = self._recent, 0.0
        return recent

    def holdups(self) -> Histogram:
        """How long the whole process was held up, one value per occurrence."""
        return self._holdups

    def _watch(self) -> None:
        while not self._wait(self._stop, perf_counter() + self._interval):
            self._answered.clear()
            if self._stop.is_set():
                return
            asked = perf_counter()
            try:
                self._loop.call_soon_threadsafe(self._answer, asked)
            except RuntimeError:
                return  # the loop was closed before the watch was left
            self._await_answer(asked)

    def _await_answer(self, asked: float) -> None:
        patience = self._threshold
        while not self._wait(self._answered, asked + patience):
            self._report(Blockage(perf_counter() - asked, _stack_of(self._loop_thread)))
            patience *= 2

    def _wait(self, event: Event, until: float) -> bool:
        """Wait for the event until the deadline. Returns whether it was set, and notes how much too
        late this thread woke."""
        computed = process_time()
        happened = event.wait(until - perf_counter())
        late = perf_counter() - until
        if late > self._threshold:
            self._holdups = self._holdups.with_one(late)
            self._report_holdup(InterpreterStall(late, process_time() - computed, _places()))
        return happened

    def _answer(self, asked: float) -> None:
        """On the loop: record the latency. Only the loop writes the figures."""
        late = perf_counter() - asked
        self._lags = self._lags.with_one(late)
        self._longest = max(self._longest, late)
        self._recent = max(self._recent, late)
        self._answered.set()


def _stack_of(thread: int) -> str:
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - the documented way, despite its name
    return "".join(traceback.format_stack(frame)) if frame else "the thread has ended"


def _places() -> tuple[str, ...]:
    """Return the current position in the code of each thread but this one."""
    names = {thread.ident: thread.name for thread in enumerate_threads()}
    frames = sys._current_frames()  # noqa: SLF001 - the documented way, despite its name
    return tuple(
        f"{names.get(thread, thread)}: {frame.f_code.co_filename}:{frame.f_lineno}"
        f" in {frame.f_code.co_name}"
        for thread, frame in frames.items()
        if thread != get_ident()
    )


# Measures the time that a coroutine spends on the loop itself, without the time it waits.

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LoopTime:
    """What one part has spent on the loop: the number of calls, the total time and the longest
    step."""

    calls: int = 0
    total_seconds: float = 0.0
    longest_step_seconds: float = 0.0
    threads: int = 0
    """How many calls this part made to threads."""

    @property
    def mean_seconds(self) -> float:
        return self.total_seconds / self.calls if self.calls else 0.0


class LoopMeter:
    """The loop time of every part, by name. Only the event loop writes to it.

    `seconds` is the clock that measures each step. With `thread_time`, what other threads and
    processes compute meanwhile does not count.
    """

    def __init__(self, seconds: Callable[[], float] = perf_counter) -> None:
        self._seconds = seconds
        self._accounts: dict[str, _Account] = {}

    def add(self, name: str, seconds: float) -> None:
        """Add a call that took a single step."""
        account = self._accounts.get(name)
        if account is None:
            account = self._accounts[name] = _Account()
        account.calls += 1
        account.total += seconds
        account.longest = max(account.longest, seconds)

    async def measure(self, name: str, work: Coroutine[Any, Any, T]) -> T:
        """Await the work and add its time on the loop to the figures of this name."""
        account = self._accounts.get(name)
        if account is None:
            account = self._accounts[name] = _Account()
        account.calls += 1
        outer = _measured.get()
        _measured.set(account)
        try:
            return await _Steps(work, account, self._seconds)
        finally:
            _measured.set(outer)

    def times(self) -> dict[str, LoopTime]:
        return {name: account.time() for name, account in self._accounts.items()}


class _Account:
    """The figures of one part. They are updated in place, because every step of every call changes
    them."""

    __slots__ = ("calls", "longest", "threads", "total")

    def __init__(self) -> None:
        self.calls = 0
        self.total = 0.0
        self.longest = 0.0
        self.threads = 0

    def time(self) -> LoopTime:
        return LoopTime(self.calls, self.total, self.longest, self.threads)


_measured: ContextVar[_Account | None] = ContextVar("measured", default=None)
"""The account of the part that is being measured. Tasks that the part starts inherit it."""


def note_thread() -> None:
    """Count a call to a thread for the part that is being measured, if there is one."""
    account = _measured.get()
    if account is not None:
        account.threads += 1


class _Steps(Generic[T]):
    """Drives a coroutine step by step and measures the time of each step."""

    __slots__ = ("_account", "_seconds", "_work")

    def __init__(
        self, work: Coroutine[Any, Any, T], account: _Account, seconds: Callable[[], float]
    ) -> None:
        self._work = work
        self._account = account
        self._seconds = seconds

    def __await__(self) -> Generator[Any, Any, T]:
        send, account, now = self._work.send, self._account, self._seconds
        fault: BaseException | None = None
        heard: Any = None
        while True:
            began = now()
            try:
                waits_for = send(heard) if fault is None else self._work.throw(fault)
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                seconds = now() - began
                account.total += seconds
                if seconds > account.longest:
                    account.longest = seconds
            fault = None
            try:
                heard = yield waits_for
            except BaseException as error:  # noqa: BLE001 - handed on to the coroutine, unchanged
                fault = error
