"""What is kept for a while: joined work, values read again, remembered answers."""

import asyncio

import pytest

from rookery.server.caches import ExpiringCache, Refresher, SharedWork
from tests.fakes import HandClock, RecordedLog

pytestmark = pytest.mark.anyio


async def test_work_that_is_under_way_is_joined() -> None:
    joined: SharedWork[str, int] = SharedWork()
    begun = []

    async def work() -> int:
        begun.append(1)
        await asyncio.sleep(0)
        return len(begun)

    assert await asyncio.gather(*(joined("key", work) for _ in range(5))) == [1] * 5
    assert await joined("key", work) == 2


async def test_a_caller_that_leaves_does_not_end_the_work_of_others() -> None:
    joined: SharedWork[str, str] = SharedWork()

    async def work() -> str:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return "done"

    first, second = (asyncio.ensure_future(joined("key", work)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == "done"


async def test_all_who_joined_hear_of_a_failure() -> None:
    joined: SharedWork[str, str] = SharedWork()

    async def work() -> str:
        await asyncio.sleep(0)
        raise ValueError("no")

    outcomes = await asyncio.gather(
        *(joined("key", work) for _ in range(2)), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [ValueError, ValueError]


A_FEW_TURNS = 5


async def turns_of_the_loop() -> None:
    for _ in range(A_FEW_TURNS):
        await asyncio.sleep(0)


async def test_however_often_it_is_told_it_reads_once_more() -> None:
    reads = 0
    ready = asyncio.Event()

    async def load() -> None:
        nonlocal reads
        reads += 1
        await ready.wait()

    refresh = Refresher(load, RecordedLog())
    for _ in range(3):
        refresh.schedule("Ethereal")
        await turns_of_the_loop()
    ready.set()
    await turns_of_the_loop()
    assert reads == 2


async def test_a_failure_is_told_and_the_next_attempt_made() -> None:
    reads: list[int] = []

    async def load() -> None:
        reads.append(1)
        if len(reads) == 1:
            raise OSError("away")

    log = RecordedLog()
    refresh = Refresher(load, log)
    for _ in range(2):
        refresh.schedule()
        await turns_of_the_loop()
    assert log.events() == ["not_refreshed"]
    assert len(reads) == 2


def test_a_value_is_kept_for_its_time() -> None:
    clock = HandClock()
    kept: ExpiringCache[str, int] = ExpiringCache(clock, most=10)
    kept.put("a", 1, seconds=2)
    clock.move(seconds=1)
    assert kept.get("a") == 1
    clock.move(seconds=1)
    assert kept.get("a") is None


def test_a_value_can_be_forgotten() -> None:
    kept: ExpiringCache[str, int] = ExpiringCache(HandClock(), most=10)
    kept.put("a", 1, seconds=2)
    kept.forget("a")
    kept.forget("never known")
    assert kept.get("a") is None


def test_the_oldest_value_goes_when_there_are_too_many() -> None:
    kept: ExpiringCache[str, int] = ExpiringCache(HandClock(), most=2)
    for name in ("a", "b", "a", "c"):
        kept.put(name, 1, seconds=2)
    assert [name for name in "abc" if kept.get(name)] == ["a", "c"]
