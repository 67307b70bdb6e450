"""Work that several callers want at the same time."""

import asyncio

import pytest

from rookery.caches import SharedWork

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
