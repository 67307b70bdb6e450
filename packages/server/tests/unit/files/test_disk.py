"""Whether the disk has room is judged from what is free and from writes that failed."""

import errno
from pathlib import Path

import asyncpg
import pytest

from rookery.core.boundary.offload import Threads
from rookery.server.disk import LEAST_FREE, MB, Disk, DiskNearlyFull, DiskSpace, WatchedFolder
from tests.fakes import HandClock, RecordedLog

pytestmark = pytest.mark.anyio

RESERVE = 256 * MB
DATA, FILES = Path("/the data"), Path("/the files")


class Place:
    """Disks whose free space the test sets."""

    def __init__(self) -> None:
        self.free = {DATA: 10**12, FILES: 10**12}
        self.clock, self.log = HandClock(), RecordedLog()
        folders = WatchedFolder(DATA), WatchedFolder(FILES, holds_database=False)
        self.disk = Disk(
            folders,
            Threads(),
            self.clock,
            self.log,
            reserve=RESERVE,
            free=self.free.__getitem__,
        )

    async def room(self, free: int, folder: Path = DATA) -> DiskSpace:
        self.free[folder] = free
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


async def test_a_full_disk_of_files_alone_is_low_and_says_whose_it_is() -> None:
    place = Place()
    assert await place.room(0, FILES) is DiskSpace.LOW
    assert place.disk.describe_trouble().startswith("the disk of the files is nearly full: 0 MB")
    assert place.log.fields("disk_low")["path"] == "/the files"


async def test_the_database_without_space_matters_more_than_the_files() -> None:
    place = Place()
    await place.room(0, FILES)
    assert await place.room(LEAST_FREE - 1) is DiskSpace.FULL
    assert place.disk.describe_trouble() == "disk full: 31 MB are left"


async def test_a_database_elsewhere_that_found_no_space_is_told_without_a_figure() -> None:
    place = Place()
    place.disk.note_error(asyncpg.DiskFullError("could not extend file"))
    assert place.disk.describe_trouble() == "disk full: a write found no space"


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
    place.clock.move(seconds=9)
    assert await place.room(10**12) is DiskSpace.FULL
    place.clock.move(seconds=2)
    assert await place.room(10**12) is DiskSpace.ENOUGH


async def test_a_commit_after_failed_writes_shortens_the_wait_for_a_disk_elsewhere() -> None:
    place = Place()
    place.disk.note_error(asyncpg.DiskFullError("could not extend file"))
    place.disk.add(1, ["a"])
    assert await place.room(10**12) is DiskSpace.FULL
    place.clock.move(seconds=3)
    assert await place.room(10**12) is DiskSpace.ENOUGH


async def test_a_write_that_fails_after_a_commit_counts_for_the_whole_while_again() -> None:
    place = Place()
    place.disk.add(1, ["a"])
    place.disk.note_error(asyncpg.DiskFullError("could not extend file"))
    place.clock.move(seconds=9)
    assert await place.room(10**12) is DiskSpace.FULL


async def test_failed_writes_are_forgotten_once_space_is_seen_where_there_was_none() -> None:
    place = Place()
    await place.room(0)
    place.disk.note_error(asyncpg.DiskFullError("could not extend file"))
    assert await place.room(10**12) is DiskSpace.ENOUGH


async def test_an_upload_that_was_refused_at_the_reserve_is_no_failed_write() -> None:
    place = Place()
    assert place.disk.note_error(DiskNearlyFull())
    assert place.disk.space is DiskSpace.ENOUGH


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), ValueError("x"), TimeoutError()])
async def test_other_errors_say_nothing_about_the_disk(error: Exception) -> None:
    assert not Place().disk.note_error(error)
