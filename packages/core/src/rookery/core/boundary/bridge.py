"""Calls from a thread to the event loop: the only way for blocking code to await something.

Theory of operation. A crossing takes one of `limit` places, is handed to the loop without
waiting for it, and then the thread waits for the answer, never longer than its time limit:

    waiting for a place --> launched --> running on the loop --> answered
            |                  |                |
            v                  v                v
        BridgeFull         given up: the thread leaves at once with BridgeTimeout,
        BridgeClosed       the coroutine is cancelled on the loop (or never started)

The place is given back when the coroutine has ended, not when the thread has left: a coroutine
that resists its cancellation goes on using the database, and must count.

Places and counters are guarded by one lock. A crossing's answer is set by the loop alone.
"""

import asyncio
import inspect
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Condition
from time import monotonic
from typing import Any, Generic, TypeVar, TypeVarTuple

from anyio import move_on_after

from rookery.core.boundary.errors import (
    BridgeClosed,
    BridgeError,
    BridgeFull,
    BridgeTimeout,
    CrossingCancelled,
    NotACoroutineFunction,
    OnAnotherLoop,
    OnTheLoop,
)

__all__ = ["Bridge", "BridgeStats", "call_soon", "open_bridge"]

T = TypeVar("T")
Args = TypeVarTuple("Args")


@dataclass(frozen=True, slots=True)
class BridgeStats:
    """The counters of the bridge. `inside` and `waiting` are current values; the rest count since
    the start."""

    limit: int
    inside: int
    waiting: int
    calls: int
    timeouts: int
    refused_on_loop: int
    refused_on_other_loop: int
    refused_closed: int
    refused_full: int

    @property
    def refused(self) -> int:
        wrong_thread = self.refused_on_loop + self.refused_on_other_loop
        return wrong_thread + self.refused_closed + self.refused_full


def call_soon(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    """Make the loop call a function in its next iteration, without waiting for the result.

    For threads and signal handlers. Does nothing when the loop is closed.
    """
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call)


@asynccontextmanager
async def open_bridge(*, limit: int = 64, grace_seconds: float = 1.0) -> AsyncIterator["Bridge"]:
    """Yield a bridge to the running loop, closed at the end of the block."""
    bridge = Bridge(asyncio.get_running_loop(), limit)
    try:
        yield bridge
    finally:
        await bridge.close(grace_seconds=grace_seconds)


class _Crossing(Generic[T]):
    """One call under way: the coroutine to run, and the future that its thread waits for."""

    def __init__(self, start: Callable[[], Awaitable[T]]) -> None:
        self.answer: Future[T] = Future()
        self._start = start
        self._task: asyncio.Task[None] | None = None
        self._given_up = False

    def begin(self, loop: asyncio.AbstractEventLoop, ended: Callable[[], None]) -> None:
        """On the loop: start the coroutine, unless its thread has left in the meantime."""
        if self._given_up:
            ended()
            return
        self._task = loop.create_task(self._run(), name="bridge crossing")
        self._task.add_done_callback(lambda _: ended())

    def give_up(self) -> None:
        """On the loop: cancel the coroutine, or make sure that it never starts.

        It is cancelled once, not again at each of its steps as a cancel scope would do, because
        database drivers have to await something while they return a connection to the pool.
        """
        if self._task is not None and not self._given_up:
            self._task.cancel()
        self._given_up = True

    def fail(self, fault: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(fault)

    async def _run(self) -> None:
        try:
            value = await self._start()
        except asyncio.CancelledError:
            self.fail(CrossingCancelled())  # no effect when the thread has left
        except BaseException as fault:  # noqa: BLE001 - whatever it is, it is the caller's
            self.fail(fault)
        else:
            if not self.answer.done():
                self.answer.set_result(value)


class Bridge:
    """Lets threads run coroutines on one loop; see `open_bridge`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        self._loop = loop
        self._limit = limit
        self._changed = Condition()
        self._closed = False
        self._inside = 0
        self._waiting = 0
        self._calls = 0
        self._timeouts = 0
        self._refused: Counter[type[BridgeError]] = Counter()
        # Changed on the loop only: the crossings that have begun there, and whether none is left.
        self._begun: set[_Crossing[Any]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def call(self, fn: Callable[[*Args], Awaitable[T]], *args: *Args, seconds: float) -> T:
        """In a thread: await `fn(*args)` on the loop and return its result.

        After `seconds` the coroutine is cancelled and BridgeTimeout is raised at once, even
        when the coroutine resists or the loop itself is blocked. The coroutine sees the
        caller's context variables; what it sets stays on its side.
        """
        deadline = monotonic() + seconds
        self._refuse_wrong_use(fn)
        self._enter(deadline, seconds)
        crossing = _Crossing(lambda: fn(*args))
        self._launch(crossing)
        try:
            answered = wait([crossing.answer], timeout=max(0.0, deadline - monotonic())).done
        except BaseException:  # the waiting thread itself was interrupted
            self._abandon(crossing)
            raise
        if not answered:
            self._abandon(crossing)
            self._count_timeout()
            raise BridgeTimeout(seconds)
        return crossing.answer.result()

    def require_own_loop(self) -> None:
        """Raise OnAnotherLoop unless called on the loop that the bridge belongs to."""
        if asyncio.get_running_loop() is not self._loop:
            self._refuse(OnAnotherLoop())

    async def close(self, *, grace_seconds: float = 1.0) -> None:
        """On the loop: raise BridgeClosed in every waiting thread and cancel the running
        coroutines.

        Coroutines that resist cancellation get `grace_seconds`; after that `close` no longer waits
        for them.
        """
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for crossing in self._begun:
            crossing.fail(BridgeClosed())
            crossing.give_up()
        with move_on_after(grace_seconds, shield=True):
            await self._idle.wait()

    def stats(self) -> BridgeStats:
        with self._changed:
            return BridgeStats(
                limit=self._limit,
                inside=self._inside,
                waiting=self._waiting,
                calls=self._calls,
                timeouts=self._timeouts,
                refused_on_loop=self._refused[OnTheLoop],
                refused_on_other_loop=self._refused[OnAnotherLoop],
                refused_closed=self._refused[BridgeClosed],
                refused_full=self._refused[BridgeFull],
            )

    def _refuse_wrong_use(self, fn: object) -> None:
        if inspect.iscoroutine(fn):
            fn.close()
        if not callable(fn):
            raise NotACoroutineFunction(type(fn).__name__)
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            return  # a plain thread: the only one that may call
        self._refuse(OnTheLoop() if here is self._loop else OnAnotherLoop())

    def _refuse(self, why: BridgeError) -> None:
        with self._changed:
            self._refused[type(why)] += 1
        raise why

    def _enter(self, deadline: float, seconds: float) -> None:
        """Take a place, waiting for one until the deadline."""
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(self._may_go_on, timeout=deadline - monotonic())
            finally:
                self._waiting -= 1
            if self._closed:
                self._refuse(BridgeClosed())
            if self._inside >= self._limit:
                self._refuse(BridgeFull(seconds))
            self._inside += 1
            self._calls += 1

    def _may_go_on(self) -> bool:
        return self._closed or self._inside < self._limit

    def _leave(self) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify()

    def _launch(self, crossing: _Crossing[T]) -> None:
        try:
            # The loop copies the caller's context here, in the caller's thread.
            self._loop.call_soon_threadsafe(self._begin, crossing)
        except RuntimeError:  # the loop was closed before the bridge
            self._leave()
            self._refuse(BridgeClosed())

    def _begin(self, crossing: _Crossing[T]) -> None:
        """On the loop: start the coroutine, unless the bridge was closed in the meantime."""
        if self._closed:
            crossing.fail(BridgeClosed())
            crossing.give_up()
        self._begun.add(crossing)
        self._idle.clear()
        crossing.begin(self._loop, partial(self._ended, crossing))

    def _ended(self, crossing: _Crossing[T]) -> None:
        self._begun.discard(crossing)
        if not self._begun:
            self._idle.set()
        self._leave()

    def _abandon(self, crossing: _Crossing[T]) -> None:
        call_soon(self._loop, crossing.give_up)

    def _count_timeout(self) -> None:
        with self._changed:
            self._timeouts += 1
