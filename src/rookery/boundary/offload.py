"""From the loop to a thread: blocking and computing calls, each kind with its own limit.

Waiting and computing are kept apart because a few computing threads are enough to starve the
loop of the interpreter, while hundreds of waiting ones cost it nothing.

A call that is given up (its task is cancelled) while it queues never starts. Once its function
runs, nobody can stop it: the task waits for its end, so that a limit is never exceeded by
threads that nobody waits for; the function's result is then dropped. Long functions may ask
`check_given_up` from time to time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, from_thread, to_thread

from rookery.boundary.errors import Overloaded

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
        asked = perf_counter()
        began = asked

        def timed() -> T:
            nonlocal began
            began = perf_counter()
            return call()

        try:
            return await to_thread.run_sync(timed, limiter=self.limiter)
        finally:
            self.longest = max(self.longest, began - asked)

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
