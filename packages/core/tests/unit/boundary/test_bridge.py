"""Threads reach the loop over the bridge: in time, from the right thread, or not at all."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextvars import ContextVar
from threading import Event, Thread, get_ident
from typing import TypeVar

import anyio
import pytest
from anyio.lowlevel import checkpoint

from rookery.core.boundary.bridge import Bridge, call_soon, open_bridge
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
from rookery.core.boundary.offload import Threads
from tests.eventually import eventually

pytestmark = pytest.mark.anyio

T = TypeVar("T")
LONG = 60.0
colour = ContextVar("colour", default="none")


@pytest.fixture
async def bridge() -> AsyncIterator[Bridge]:
    async with open_bridge(limit=2, grace_seconds=LONG) as opened:
        yield opened


def in_thread(work: Callable[[], T]) -> Future[T]:
    """Return the outcome of the work in a thread of its own, which no loop knows."""
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as fault:  # noqa: BLE001 - the test looks at it
            outcome.set_exception(fault)

    Thread(target=run, daemon=True).start()
    return outcome


async def crossing(work: Callable[[], T]) -> T:
    return await asyncio.wrap_future(in_thread(work))


async def until_inside(bridge: Bridge, count: int) -> None:
    await eventually(lambda: bridge.stats().inside == count)


async def until_waiting(bridge: Bridge, count: int) -> None:
    await eventually(lambda: bridge.stats().waiting == count)


async def double(number: int) -> int:
    await checkpoint()
    return 2 * number


async def thread_of_the_loop() -> int:
    return get_ident()


async def test_a_thread_gets_the_result_of_a_coroutine_that_ran_on_the_loop(
    bridge: Bridge,
) -> None:
    assert await crossing(lambda: bridge.call(double, 21, seconds=LONG)) == 42
    assert await crossing(lambda: bridge.call(thread_of_the_loop, seconds=LONG)) == get_ident()


async def test_an_error_of_the_coroutine_reaches_the_thread(bridge: Bridge) -> None:
    async def fail() -> None:
        raise LookupError("no such run")

    with pytest.raises(LookupError, match="no such run"):
        await crossing(lambda: bridge.call(fail, seconds=LONG))


async def test_a_time_out_of_the_coroutines_own_is_not_taken_for_ours(bridge: Bridge) -> None:
    async def fail() -> None:
        raise TimeoutError("the database's own")

    with pytest.raises(TimeoutError, match="the database's own"):
        await crossing(lambda: bridge.call(fail, seconds=LONG))
    assert bridge.stats().timeouts == 0


async def test_context_variables_travel_over_both_crossings(bridge: Bridge) -> None:
    async def look_and_change() -> str:
        seen = colour.get()
        colour.set("blue")
        return seen

    def work() -> tuple[str, str]:
        return bridge.call(look_and_change, seconds=LONG), colour.get()

    colour.set("red")
    assert await Threads().io(work) == ("red", "red")


async def test_a_crossing_may_use_everything_anyio_offers(bridge: Bridge) -> None:
    async def structured() -> int:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 0)
        return await Threads().io(len, "four")

    assert await Threads().io(lambda: bridge.call(structured, seconds=LONG)) == 4


async def test_the_loops_own_thread_is_refused(bridge: Bridge) -> None:
    with pytest.raises(OnTheLoop, match="await the coroutine"):
        bridge.call(double, 1, seconds=LONG)
    assert bridge.stats().refused_on_loop == 1


async def test_a_thread_that_runs_another_loop_is_refused(bridge: Bridge) -> None:
    async def elsewhere() -> int:
        return bridge.call(double, 1, seconds=LONG)

    with pytest.raises(OnAnotherLoop, match="another event loop"):
        await crossing(lambda: asyncio.run(elsewhere()))
    assert bridge.stats().refused_on_other_loop == 1


async def test_a_closed_bridge_refuses() -> None:
    async with open_bridge() as bridge:
        pass
    with pytest.raises(BridgeClosed):
        await crossing(lambda: bridge.call(double, 1, seconds=LONG))
    assert bridge.stats().refused == 1


def test_a_bridge_whose_loop_is_gone_refuses() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    with pytest.raises(BridgeClosed):
        in_thread(lambda: Bridge(loop, 1).call(double, 1, seconds=LONG)).result()


async def test_a_coroutine_instead_of_its_function_is_refused(bridge: Bridge) -> None:
    def work() -> object:
        return bridge.call(double(1), seconds=LONG)  # type: ignore[arg-type]  # the mistake itself

    with pytest.raises(NotACoroutineFunction, match="coroutine"):
        await crossing(work)


class Stubborn:
    """A coroutine that goes on until it is released, however often it is cancelled."""

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.cancelled = anyio.Event()
        self.release = anyio.Event()

    async def __call__(self) -> None:
        self.begun.set()
        while not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                self.cancelled.set()


async def time_out(bridge: Bridge, work: Stubborn) -> None:
    """Let a call run into its time limit after it has begun, however slow the machine is."""
    while not work.begun.is_set():
        with pytest.raises(BridgeTimeout, match=r"0\.01"):
            await crossing(lambda: bridge.call(work, seconds=0.01))


async def test_the_time_limit_cancels_the_coroutine(bridge: Bridge) -> None:
    work = Stubborn()
    await time_out(bridge, work)
    await work.cancelled.wait()
    assert bridge.stats().timeouts >= 1
    work.release.set()


async def test_a_coroutine_that_resists_its_cancellation_does_not_hold_the_thread(
    bridge: Bridge,
) -> None:
    work = Stubborn()
    await time_out(bridge, work)
    await work.cancelled.wait()
    assert bridge.stats().inside == 1  # it still uses what it uses, so it counts
    work.release.set()
    await until_inside(bridge, 0)


@pytest.mark.usefixtures("may_block_the_loop")
async def test_a_blocked_loop_does_not_hold_the_thread_and_the_coroutine_never_starts(
    bridge: Bridge,
) -> None:
    started = Event()

    async def start() -> None:
        started.set()

    outcome = in_thread(lambda: bridge.call(start, seconds=0.01))
    with pytest.raises(BridgeTimeout):
        outcome.result(LONG)  # blocks the loop until the thread is free
    await until_inside(bridge, 0)
    assert not started.is_set()


async def test_beyond_the_limit_a_call_waits_for_a_place(bridge: Bridge) -> None:
    release = anyio.Event()
    holders = [in_thread(lambda: bridge.call(release.wait, seconds=LONG)) for _ in range(2)]
    await until_inside(bridge, 2)
    third = in_thread(lambda: bridge.call(double, 4, seconds=LONG))
    await until_waiting(bridge, 1)
    release.set()
    assert await asyncio.wrap_future(third) == 8
    for holder in holders:
        await asyncio.wrap_future(holder)


async def test_who_finds_no_place_within_the_time_limit_is_refused(bridge: Bridge) -> None:
    release = anyio.Event()
    holders = [in_thread(lambda: bridge.call(release.wait, seconds=LONG)) for _ in range(2)]
    await until_inside(bridge, 2)
    with pytest.raises(BridgeFull, match=r"0\.01"):
        await crossing(lambda: bridge.call(double, 4, seconds=0.01))
    assert (bridge.stats().refused_full, bridge.stats().calls) == (1, 2)
    release.set()
    for holder in holders:
        await asyncio.wrap_future(holder)


async def test_closing_ends_every_thread_that_waits() -> None:
    async with open_bridge(limit=2) as bridge:
        calls = [in_thread(lambda: bridge.call(anyio.sleep, LONG, seconds=LONG)) for _ in range(4)]
        await until_inside(bridge, 2)
        await until_waiting(bridge, 2)
    for call in calls:
        with pytest.raises(BridgeClosed):
            await asyncio.wrap_future(call)
    assert bridge.stats().inside == 0


@pytest.mark.usefixtures("may_block_the_loop")
async def test_closing_ends_a_call_that_the_loop_has_not_seen_yet() -> None:
    async with open_bridge() as bridge:
        call = in_thread(lambda: bridge.call(double, 1, seconds=LONG))
        while bridge.stats().inside != 1:  # never awaits, so the call cannot begin
            pass
    with pytest.raises(BridgeClosed):
        await asyncio.wrap_future(call)


async def test_closing_does_not_wait_for_ever_for_a_coroutine_that_resists() -> None:
    work = Stubborn()
    async with open_bridge(grace_seconds=0.01) as bridge:
        call = in_thread(lambda: bridge.call(work, seconds=LONG))
        await work.begun.wait()
    with pytest.raises(BridgeClosed):
        await asyncio.wrap_future(call)
    assert bridge.stats().inside == 1
    work.release.set()
    await until_inside(bridge, 0)


async def test_closing_leaves_a_coroutine_alone_that_is_already_being_cancelled() -> None:
    tidied = anyio.Event()
    begun = anyio.Event()

    async def tidy() -> None:
        begun.set()
        try:
            await anyio.sleep(LONG)
        finally:
            await anyio.sleep(0.01)  # as a driver does while it puts a connection back
            tidied.set()

    async with open_bridge(grace_seconds=LONG) as bridge:
        while not begun.is_set():
            with pytest.raises(BridgeTimeout):
                await crossing(lambda: bridge.call(tidy, seconds=0.01))
    assert tidied.is_set()


async def test_a_crossing_cancelled_by_somebody_else_says_so(bridge: Bridge) -> None:
    async def cancelled() -> None:
        raise asyncio.CancelledError

    with pytest.raises(CrossingCancelled):
        await crossing(lambda: bridge.call(cancelled, seconds=LONG))


async def test_every_refusal_is_a_bridge_error() -> None:
    assert all(
        issubclass(kind, BridgeError)
        for kind in (BridgeClosed, BridgeFull, BridgeTimeout, OnTheLoop, OnAnotherLoop)
    )


async def test_a_thread_tells_the_loop_something_and_waits_for_nothing() -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    await crossing(lambda: call_soon(loop, told.set))
    await asyncio.wait_for(told.wait(), LONG)


def test_a_closed_loop_is_told_nothing_and_nobody_minds() -> None:
    told = list[str]()
    loop = asyncio.new_event_loop()
    loop.close()
    call_soon(loop, lambda: told.append("never"))
    assert told == []
