"""People who come at once go one after the other, with whatever else has come in between."""

import asyncio

import pytest

from rookery.server.http.faults import SearchTooSlow
from rookery.server.http.turns import SearchPlaces, Turns

pytestmark = pytest.mark.anyio


async def count_rounds(until: "asyncio.Future[list[None]]") -> int:
    rounds = 0
    while not until.done():
        rounds += 1
        await asyncio.sleep(0)
    return rounds


async def test_a_hundred_who_come_at_once_leave_the_loop_free_between_two() -> None:
    turns = Turns()
    all_gone = asyncio.gather(*(turns.take() for _ in range(100)))
    assert await count_rounds(all_gone) >= 99
    assert len(turns) == 0


async def test_who_comes_alone_waits_for_no_round() -> None:
    turns = Turns()
    for _ in range(3):
        going = turns.take()
        with pytest.raises(StopIteration):
            going.send(None)
        await asyncio.sleep(0)


async def test_who_leaves_takes_nobodys_turn() -> None:
    turns = Turns()
    first, left, last = (asyncio.ensure_future(turns.take()) for _ in range(3))
    await asyncio.sleep(0)
    left.cancel()
    await asyncio.wait_for(asyncio.gather(first, last), 1)
    assert left.cancelled()


async def test_a_search_waits_for_a_place_but_not_for_long() -> None:
    places = SearchPlaces(1, seconds=0.01)
    async with places.enter():
        with pytest.raises(SearchTooSlow):
            async with places.enter():
                pass
        async with places.enter(has_index=True):
            pass
    async with places.enter():
        pass


@pytest.mark.parametrize("has_index", [False, True])
async def test_a_search_that_runs_out_of_time_gives_its_place_back(has_index: bool) -> None:
    places = SearchPlaces(1)
    for _ in range(2):
        with pytest.raises(SearchTooSlow):
            async with places.enter(has_index=has_index):
                raise TimeoutError
