"""Whether the disk has room is judged from what is free and from writes that failed."""

import errno
from pathlib import Path

import asyncpg
import pytest

from rookery.boundary.offload import Threads
from rookery.files.blobs import DiskNearlyFull
from rookery.files.disk import LEAST_FREE, MB, Disk, DiskSpace
from tests.fakes import HandClock, RecordedLog

pytestmark = pytest.mark.anyio

RESERVE = 256 * MB


class Place:
    """A disk whose free space the test sets."""

    def __init__(self) -> None:
        self.free = 10**12
        self.clock, self.log = HandClock(), RecordedLog()
        path = Path("/the data")
        self.disk = Disk(
            path, Threads(), self.clock, self.log, reserve=RESERVE, free=lambda _: self.free
        )

    async def room(self, free: int) -> DiskSpace:
        self.free = free
        await self.disk.measure()
        return self.disk.space


async def test_less_than_the_reserve_is_low_and_next_to_nothing_is_full() -> None:
    place = Place()
    rooms = [await place.room(free) for free in (RESERVE, RESERVE - 1, LEAST_FREE, LEAST_FREE - 1)]
    assert rooms == [DiskSpace.ENOUGH, DiskSpace.LOW, DiskSpace.LOW, DiskSpace.FULL]


async def test_each_change_is_told_once_and_its_end_too() -> None:
    place = Place()
    for free in (0, 0, 0, 10**12, 10**12):
        await place.room(free)
    assert place.log.events() == ["disk_full", "disk_has_room"]
    assert place.log.fields("disk_full") == {"path": "/the data", "free_mb": 0}


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "any words"),
        OSError(errno.EDQUOT, "any words"),
        asyncpg.DiskFullError("could not extend file"),
    ],
)
async def test_a_write_that_failed_for_want_of_room_counts_for_a_while(error: Exception) -> None:
    place = Place()
    assert place.disk.note_error(error)
    assert place.disk.space is DiskSpace.FULL
    place.clock.move(seconds=29)
    assert await place.room(10**12) is DiskSpace.FULL
    place.clock.move(seconds=2)
    assert await place.room(10**12) is DiskSpace.ENOUGH


async def test_an_upload_that_was_refused_at_the_reserve_is_no_failed_write() -> None:
    place = Place()
    assert place.disk.note_error(DiskNearlyFull())
    assert place.disk.space is DiskSpace.ENOUGH


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), ValueError("x"), TimeoutError()])
async def test_other_errors_say_nothing_about_the_disk(error: Exception) -> None:
    assert not Place().disk.note_error(error)
