"""A real server under load on real small disks that somebody fills, and empties again: that of the
database, and that of the files. scripts/prove full_disk repeats it at random."""

from pathlib import Path

import pytest

from tests.faults.small_disks import DATABASE, FILES, SmallDiskFarm, farm_on_small_disks

pytestmark = pytest.mark.anyio


async def fill_the_database(farm: SmallDiskFarm) -> None:
    await farm.fill(DATABASE, leave=50 * 10**6)
    await farm.until(lambda status, told: status == 200 and "the disk is nearly full" in told)
    assert "nearly full" in (await farm.call("GET", "/login"))[1]
    await farm.fill(DATABASE)
    await farm.until(lambda status, told: status == 503 and told.startswith("disk full"))
    assert "disk full" in (await farm.call("GET", "/login"))[1]
    await farm.empty(DATABASE)
    await farm.until(lambda status, told: (status, told) == (200, ""))
    await farm.fleet.wrote_again()


async def fill_the_files(farm: SmallDiskFarm) -> None:
    await farm.fill(FILES)
    await farm.until(lambda status, told: status == 200 and "disk of the files" in told)
    assert await farm.put_book("refused") == 503
    await farm.fleet.wrote_again()
    await farm.empty(FILES)
    await farm.until(lambda status, told: (status, told) == (200, ""))
    assert await farm.put_book("taken") == 200


async def test_a_full_disk_is_told_as_what_it_is_and_nothing_is_lost(
    tmp_path: Path, may_block_the_loop: None, files_in_a_folder: None
) -> None:
    async with farm_on_small_disks(tmp_path, runs=4) as farm:
        async with farm.fleet.at_work(8):
            await farm.fleet.wrote_again()
            await fill_the_files(farm)
            await fill_the_database(farm)
        audit = await farm.audit()
    assert audit.wrong == ()
    assert farm.fleet.ledger.acknowledged_games() > 100
