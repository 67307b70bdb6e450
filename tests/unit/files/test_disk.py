"""Whether the disk has room is judged from what is free and from writes that failed."""

import errno
from pathlib import Path

import asyncpg
import pytest

from rookery.boundary.offload import Threads
from rookery.files.blobs import DiskNearlyFull
from rookery.files.disk import LEAST, MB, Disk, Room
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

    async def room(self, free: int) -> Room:
        self.free = free
        await self.disk.look()
        return self.disk.room


async def test_less_than_the_reserve_is_low_and_next_to_nothing_is_full() -> None:
    place = Place()
    rooms = [await place.room(free) for free in (RESERVE, RESERVE - 1, LEAST, LEAST - 1)]
    assert rooms == [Room.ENOUGH, Room.LOW, Room.LOW, Room.FULL]


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
    assert place.disk.note(error)
    assert place.disk.room is Room.FULL
    place.clock.move(seconds=29)
    assert await place.room(10**12) is Room.FULL
    place.clock.move(seconds=2)
    assert await place.room(10**12) is Room.ENOUGH


async def test_an_upload_that_was_refused_at_the_reserve_is_no_failed_write() -> None:
    place = Place()
    assert place.disk.note(DiskNearlyFull())
    assert place.disk.room is Room.ENOUGH


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), ValueError("x"), TimeoutError()])
async def test_other_errors_say_nothing_about_the_disk(error: Exception) -> None:
    assert not Place().disk.note(error)
