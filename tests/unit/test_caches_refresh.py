"""Reading again what another process may have changed."""

import asyncio

import pytest

from rookery.caches import Refresher
from tests.fakes import RecordedLog

pytestmark = pytest.mark.anyio

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
        refresh.soon("Ethereal")
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
        refresh.soon()
        await turns_of_the_loop()
    assert log.events() == ["not_refreshed"]
    assert len(reads) == 2
