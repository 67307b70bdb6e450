"""An upgrade under load from a version before migrations, and back to one that knows fewer of
them: the ledger is exact, and nobody waits long. scripts/prove upgrade repeats it at random."""

import asyncio
from pathlib import Path

import pytest

from tests.faults.upgrading import (
    OLD,
    HistoryMissing,
    Version,
    check_out,
    farm_of,
    later_version,
    newest_migration,
)

pytestmark = pytest.mark.anyio


async def test_old_and_new_run_side_by_side_and_take_over_from_one_another(
    tmp_path: Path, may_block_the_loop: None
) -> None:
    try:
        old = await asyncio.to_thread(check_out, OLD, tmp_path / "old")
    except HistoryMissing as missing:
        pytest.skip(str(missing))
    later = await asyncio.to_thread(later_version, tmp_path / "migrations")
    newest = await asyncio.to_thread(newest_migration, tmp_path / "migrations")
    async with farm_of(old, tmp_path, runs=4) as farm:
        async with farm.fleet.at_work(12):
            new = await farm.start(later)
            await farm.until_migrated(newest)
            await farm.wrote_again()
            await farm.replace(farm.servers[0], new, unnoticed=False)
            # An upgrade that is taken back: this version knows two migrations fewer.
            back = await farm.start(Version())
            await asyncio.to_thread(back.until, "schema_newer")
            assert await farm.replace(new, back, unnoticed=True) == 0
        audit = await farm.audit()
        assert audit.wrong == ()
        assert audit.replayed > 0
        assert await asyncio.to_thread(farm.count_corrections) == 0
        assert farm.fleet.ledger.acknowledged_games() > 100
