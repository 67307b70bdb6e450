"""From the loop to a thread: blocking and computing calls, each kind with its own limit.

Waiting and computing are kept apart because a few computing threads are enough to starve the
loop of the interpreter, while hundreds of waiting ones cost it nothing.

A call that is given up (its task is cancelled) while it queues never starts. Once its function
runs, nobody can stop it: anyio's cancellation waits for its end and then drops the result,
asyncio's own leaves at once. Either way its place is given back only when the function has
ended, so that no limit is exceeded by threads nobody waits for. Long functions may ask
`check_given_up` from time to time.
"""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Lock
from time import perf_counter
from typing import Generic, ParamSpec, TypeVar

from anyio import CapacityLimiter, from_thread, to_thread

from rookery.boundary.errors import GivenUp, Overloaded

__all__ = ["LimiterStats", "Overloaded", "Threads", "check_given_up"]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LimiterStats:
    """The counters of one kind of thread since the start."""

    name: str
    size: int
    calls: int
    running: int
    waiting: int
    refused: int
    longest_wait_seconds: float


class _Lane:
    """One limiter with its counters; the event loop alone writes them."""

    def __init__(self, name: str, size: int, queue: int | None = None) -> None:
        self.name = name
        self.limiter = CapacityLimiter(size)
        # The place is taken before anyio is asked for a thread; it need not count again.
        self.unlimited = CapacityLimiter(math.inf)
        self.queue = queue
        self.calls = 0
        self.refused = 0
        self.longest = 0.0

    def admit(self) -> None:
        """Count a call in, or refuse it when the queue is bounded and full."""
        busy = self.limiter.statistics()
        full = busy.borrowed_tokens >= busy.total_tokens
        if self.queue is not None and full and busy.tasks_waiting >= self.queue:
            self.refused += 1
            raise Overloaded(self.name)
        self.calls += 1

    async def run(self, call: Callable[[], T]) -> T:
        place = object()
        asked = perf_counter()
        await self.limiter.acquire_on_behalf_of(place)
        self.longest = max(self.longest, perf_counter() - asked)
        release = partial(self.limiter.release_on_behalf_of, place)
        work = _Work(call, partial(asyncio.get_running_loop().call_soon_threadsafe, release))
        try:
            return await to_thread.run_sync(work.run, limiter=self.unlimited)
        finally:
            if not work.leave_running():
                release()

    def stats(self) -> LimiterStats:
        busy = self.limiter.statistics()
        return LimiterStats(
            name=self.name,
            size=int(busy.total_tokens),
            calls=self.calls,
            running=busy.borrowed_tokens,
            waiting=busy.tasks_waiting,
            refused=self.refused,
            longest_wait_seconds=self.longest,
        )


class _Work(Generic[T]):
    """A function on its way through a thread, which may outlive the task that waits for it.

    asyncio's own cancellation does not wait for the thread. The place in the limiter must, so
    the two agree under a lock which of them gives it back.
    """

    def __init__(self, call: Callable[[], T], release: Callable[[], object]) -> None:
        self._call = call
        self._release = release
        self._lock = Lock()
        self._running = False
        self._left = False

    def run(self) -> T:
        """In the thread: do the work, unless nobody has waited for its start."""
        self._begin()
        try:
            return self._call()
        finally:
            self._end()

    def leave_running(self) -> bool:
        """On the loop: nobody waits any longer. Whether the thread will give the place back."""
        with self._lock:
            self._left = True
            return self._running

    def _begin(self) -> None:
        with self._lock:
            if self._left:
                raise GivenUp
            self._running = True

    def _end(self) -> None:
        with self._lock:
            self._running = False
            if self._left:
                self._release()


class Threads:
    """The worker threads of one app, by kind: `io`, `cpu` and `hash`."""

    def __init__(
        self, *, tokens: int = 200, cpu: int = 2, hashing: int = 2, hash_queue: int = 64
    ) -> None:
        self._io = _Lane("io", tokens)
        self._cpu = _Lane("cpu", cpu)
        self._hash = _Lane("hash", hashing, hash_queue)

    def adopt_default(self) -> None:
        """Make `io` and the framework's own `def` handlers share one limit.

        To be called once on the running loop: anyio keeps its default limiter per loop.
        """
        limiter = to_thread.current_default_thread_limiter()
        limiter.total_tokens = self._io.limiter.total_tokens
        self._io.limiter = limiter

    async def io(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that waits: files, sockets, locks."""
        self._io.admit()
        return await self._io.run(partial(fn, *args, **kwargs))

    async def cpu(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that computes: templates, statistics, compression."""
        self._cpu.admit()
        return await self._cpu.run(partial(fn, *args, **kwargs))

    async def hash(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a password hash; raises Overloaded when too many already wait.

        Hashing computes, so it takes a place in `cpu` too: all computing together stays within
        that limit, and a storm of log-ins can delay a page by a hash or two, not by its queue.
        """
        self._hash.admit()
        async with self._hash.limiter:
            return await self.cpu(fn, *args, **kwargs)

    def stats(self) -> tuple[LimiterStats, ...]:
        return (self._io.stats(), self._cpu.stats(), self._hash.stats())


def check_given_up() -> None:
    """In an offloaded function: raise when the task that waits for it has been cancelled."""
    from_thread.check_cancelled()
