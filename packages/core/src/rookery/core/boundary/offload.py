"""Calls from the event loop to threads: waiting and computing ones, each kind with its own limit.

Waiting and computing are kept apart because a few computing threads are enough to starve the
loop of the interpreter, while hundreds of waiting ones cost it nothing.

A call that is given up (its task is cancelled) while it queues never starts. Once its function
runs, nobody can stop it: anyio's cancellation waits for its end and then drops the result,
asyncio's own leaves at once. Either way its place is given back only when the function has
ended, so that no limit is exceeded by threads nobody waits for.
"""

import asyncio
import math
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from time import perf_counter
from typing import Generic, ParamSpec, TypeVar

from anyio import CancelScope, CapacityLimiter, to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from rookery.core.boundary.errors import GateFull, GivenUp, Overloaded
from rookery.core.boundary.watch import note_thread

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


class _CountedLimiter:
    """A limiter with its counters; only the event loop writes to them."""

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
        note_thread()
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
        """In the thread: run the function, unless its caller gave up before the start."""
        self._begin()
        try:
            return self._call()
        finally:
            self._end()

    def leave_running(self) -> bool:
        """On the loop: note that nobody waits any longer. Returns whether the thread will release
        the place in the limiter."""
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


HASHING_THREADS = min(2, max(1, (os.cpu_count() or 1) // 2))
"""How many password checks may run at once: at most half of the processors. Wrong passwords tried
from ever new addresses could keep all of them busy, and the database needs one too."""


CPU_QUEUE = 1000
"""How many calls may wait for a computing thread: ten seconds of pages. Each holds a request with
all that belongs to it, also after its client has left."""


class Threads:
    """The worker threads of one app, by kind: `io`, `files`, `cpu` and `hash`."""

    def __init__(
        self,
        *,
        tokens: int = 200,
        files: int = 64,
        cpu: int = 2,
        cpu_queue: int = CPU_QUEUE,
        hashing: int = HASHING_THREADS,
        hash_queue: int = 64,
    ) -> None:
        self._io = _CountedLimiter("io", tokens)
        self._files = _CountedLimiter("files", files)
        self._cpu = _CountedLimiter("cpu", cpu, cpu_queue)
        self._hash = _CountedLimiter("hash", hashing, hash_queue)

    def adopt_default(self) -> None:
        """Make `io` and the framework's own `def` handlers share one limit.

        Call this once on the running loop, because anyio keeps its default limiter per loop.
        """
        limiter = to_thread.current_default_thread_limiter()
        limiter.total_tokens = self._io.limiter.total_tokens
        self._io.limiter = limiter

    async def io(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that waits: files, sockets, locks."""
        self._io.admit()
        return await self._io.run(partial(fn, *args, **kwargs))

    async def files(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call of the file store, which may be on a network. A file store that hangs blocks
        only other `files` calls."""
        self._files.admit()
        return await self._files.run(partial(fn, *args, **kwargs))

    async def cpu(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that computes: templates, statistics, compression. Raises Overloaded when too
        many already wait."""
        self._cpu.admit()
        return await self._cpu.run(partial(fn, *args, **kwargs))

    async def cpu_always(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that computes, however many wait: for the farm's own work, for workers, and
        for what is bounded elsewhere. A crowd of visitors must not end any of it."""
        self._cpu.calls += 1
        return await self._cpu.run(partial(fn, *args, **kwargs))

    async def hash(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a password hash; raises Overloaded when too many already wait.

        Hashing computes, so it takes a place in `cpu` too: all computing together stays within
        that limit, and a storm of log-ins can delay a page by a hash or two, not by its queue.
        """
        self._hash.admit()
        async with self._hash.limiter:
            return await self.cpu_always(fn, *args, **kwargs)

    async def check_hash(self, fn: Callable[P, bool], *args: P.args, **kwargs: P.kwargs) -> bool:
        """Check a password as `hash` does. After a wrong password the place stays taken for as long
        as the check took, so that guessing passwords uses at most half of the time of these threads
        and leaves the rest to the database and the loop."""
        self._hash.admit()
        limiter, place = self._hash.limiter, object()
        await limiter.acquire_on_behalf_of(place)
        began, right = perf_counter(), True
        try:
            right = await self.cpu_always(fn, *args, **kwargs)
        finally:
            release = partial(limiter.release_on_behalf_of, place)
            if right:
                release()
            else:
                asyncio.get_running_loop().call_later(perf_counter() - began, release)
        return right

    def stats(self) -> tuple[LimiterStats, ...]:
        return tuple(each.stats() for each in (self._io, self._cpu, self._hash, self._files))


# A blocking source as an async stream: each chunk is read in a thread, on demand.
#
# A thread is held only while a chunk is read, so a thousand slow downloads hold none. Nothing is
# read ahead: the next chunk is read when the last one has been taken. When the stream ends, fails
# or is given up, the source is closed, also in a thread. Code that may leave a stream between two
# chunks iterates it under `contextlib.aclosing`; otherwise the source is closed only when the
# garbage collector finds the stream.


async def stream(
    source: Iterable[T] | Callable[[], Iterable[T]], threads: Threads, *, files: bool = False
) -> AsyncGenerator[T, None]:
    """Iterate over a blocking source, or over what a function returns when called in a thread. Set
    `files` for a source that reads the file store."""
    reader = _Reader(source)
    run = threads.files if files else threads.io
    try:
        while chunk := await run(reader.read):
            # If the caller was cancelled during the read, drop the chunk and close the source.
            await checkpoint_if_cancelled()
            yield chunk[0]
    finally:
        # Close the file of a download also when its client has left.
        with CancelScope(shield=True):
            await run(reader.close)


class _Reader(Generic[T]):
    """The part of a stream that runs in threads. It opens the source on the first read, and only
    one thread reads at a time."""

    def __init__(self, source: Iterable[T] | Callable[[], Iterable[T]]) -> None:
        self._source = source
        self._opened: Iterable[T] | None = None
        self._chunks: Iterator[T] | None = None
        # Closing waits for a cancelled read that is still running in another thread.
        self._lock = Lock()

    def read(self) -> tuple[T] | None:
        """Return the next chunk in a tuple of one, or None at the end."""
        with self._lock:
            for chunk in self._open():
                return (chunk,)
            return None

    def close(self) -> None:
        with self._lock:
            for held in {id(part): part for part in (self._chunks, self._opened)}.values():
                closing = getattr(held, "close", None)
                if closing is not None:
                    closing()

    def _open(self) -> Iterator[T]:
        if self._chunks is None:
            source = self._source
            self._opened = source if isinstance(source, Iterable) else source()
            self._chunks = iter(self._opened)
        return self._chunks


# Limits the number of callers in a section. A caller that finds it full is refused at once.


@dataclass(frozen=True, slots=True)
class GateStats:
    """The counters of a gate since the start."""

    name: str
    size: int
    inside: int
    entered: int
    refused: int


class Gate:
    """At most `size` callers inside at once, from the loop or from any thread."""

    def __init__(self, name: str, size: int) -> None:
        if size < 1:
            raise ValueError("a gate lets at least one caller in")
        self._name = name
        self._size = size
        # Held for a few instructions only, so taking it never blocks the loop noticeably.
        self._lock = Lock()
        self._inside = 0
        self._entered = 0
        self._refused = 0

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Hold one place for the length of the block. Raises GateFull when no place is free."""
        self._take()
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1

    def stats(self) -> GateStats:
        with self._lock:
            return GateStats(self._name, self._size, self._inside, self._entered, self._refused)

    def _take(self) -> None:
        with self._lock:
            if self._inside >= self._size:
                self._refused += 1
                raise GateFull(self._name)
            self._inside += 1
            self._entered += 1
