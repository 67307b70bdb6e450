"""A worker of ours that finds nothing to play is kept waiting, and hears of new work at once."""

import asyncio
from typing import Any

import pytest

from tests.eventually import eventually
from tests.makers import make_plan
from tests.wire.worker.farm import Answer, ServedFarm, Worker, is_retryable

pytestmark = pytest.mark.anyio

OURS: dict[str, Any] = {"rookery": {"version": "1"}}


def asking(worker: Worker, seconds: float = 600.0) -> "asyncio.Task[Answer]":
    return asyncio.ensure_future(worker.call("request_task", rookery={"wait": seconds}))


async def in_line(farm: ServedFarm, number: int) -> None:
    await eventually(lambda: len(farm.parts.waiting_line) == number)


async def test_a_waiting_request_is_answered_when_a_run_is_approved(farm: ServedFarm) -> None:
    waiting = asking(farm.worker(**OURS))
    await in_line(farm, 1)
    farm.clock.move(seconds=20)
    run = await farm.submit()
    answer = await asyncio.wait_for(waiting, 60)
    assert answer["run"]["_id"] == run.id
    assert answer["duration"] < 20
    assert len(farm.parts.waiting_line) == 0


async def test_an_official_worker_is_answered_at_once(farm: ServedFarm) -> None:
    assert (await farm.worker().request_task())["task_waiting"] is False


async def test_a_wait_ends_with_the_answer_that_there_is_nothing(farm: ServedFarm) -> None:
    answer = await asking(farm.worker(**OURS), seconds=0.05)
    assert answer["task_waiting"] is False
    assert "error" not in answer


async def test_many_wait_and_only_as_many_are_called_as_there_are_tasks(farm: ServedFarm) -> None:
    await farm.worker().version()
    asked = [asking(farm.worker(key=f"{number:08x}", **OURS)) for number in range(50)]
    await in_line(farm, 50)
    await farm.submit(plan=make_plan(games=2))
    done, still = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED, timeout=60)
    assert ["run" in task.result() for task in done] == [True]
    await in_line(farm, 49)
    # Each of the first twenty saw the one task there was; nobody asked in vain more than once.
    assert farm.stored().tally.tasks == 1
    for task in still:
        task.cancel()
    await asyncio.gather(*still, return_exceptions=True)


async def test_who_left_is_given_nothing(farm: ServedFarm) -> None:
    waiting = asking(farm.worker(**OURS))
    await in_line(farm, 1)
    waiting.cancel()
    await in_line(farm, 0)
    await farm.submit()
    assert farm.stored().tally.tasks == 0


async def test_a_second_request_of_a_machine_ends_the_first(farm: ServedFarm) -> None:
    worker = farm.worker(**OURS)
    first = asking(worker)
    await in_line(farm, 1)
    second = asking(worker)
    assert (await asyncio.wait_for(first, 60))["task_waiting"] is False
    await farm.submit()
    assert "run" in await asyncio.wait_for(second, 60)


async def test_nobody_waits_while_the_server_stops(farm: ServedFarm) -> None:
    waiting = asking(farm.worker(**OURS))
    await in_line(farm, 1)
    farm.parts.streams.end_all()
    assert (await asyncio.wait_for(waiting, 60))["task_waiting"] is False


async def test_a_server_without_others_says_at_once_that_it_lost_its_memory(
    farm: ServedFarm,
) -> None:
    """It has nobody to ask, and does not look for anybody."""
    worker = farm.worker(**OURS)
    asked = asyncio.ensure_future(worker.send("request_task", worker.body(rookery={"wait": 600.0})))
    await in_line(farm, 1)
    await farm.parts.fleet.primary.step_down(nobody_hears)
    answer = await asyncio.wait_for(asked, 60)
    assert answer.status_code == 503
    assert "The database could not be reached" in answer.text
    assert is_retryable(answer)


async def nobody_hears() -> None:
    """Where there is one process, it holds no lease."""
