"""A backup taken from a busy server, restored elsewhere: rows as the ledger allows for that moment,
and every file that they name. scripts/prove backup repeats it, with files here and there."""

import asyncio
from pathlib import Path

import pytest

from tests.bucket_server import CREDENTIALS, BucketServer
from tests.faults.backups import UploadingConnections, back_up, read_moments, restore, watch_moments
from tests.faults.server_campaign import campaign_on
from tests.fleet.worker import Faults
from tests.rookery_process import SIMULATED

pytestmark = pytest.mark.anyio

WORKERS = 30


async def test_a_backup_of_a_busy_server_restores_to_what_the_ledger_allows(
    tmp_path: Path, bucket: BucketServer, may_block_the_loop: None
) -> None:
    """The books are audited on this very loop, which serves nobody."""
    backups = tmp_path / "backups"
    settings = SIMULATED | CREDENTIALS | {"ROOKERY_FILES_URL": bucket.url()}
    async with campaign_on(tmp_path / "here", runs=4, more=settings) as campaign:
        fleet = campaign.fleet
        fleet.lines = lines = UploadingConnections(fleet.lines)
        fleet.faults = Faults(games=0.8)
        await watch_moments(campaign.data)
        async with fleet.at_work(WORKERS):
            await asyncio.sleep(4)
            backup = await back_up(campaign, lines, backups)
            await asyncio.sleep(1)
        moments = await read_moments(campaign.data)
        await campaign.finish()
        # The restored farm keeps its files in a folder.
        there = tmp_path / "there"
        restored = await restore(backup, backups, there, SIMULATED, fleet, moments)
    assert restored.wrong == ()
    assert backup.games_sent(fleet.ledger) >= restored.games >= backup.acknowledged.games > 0
    assert restored.uploads >= backup.uploads_taken.total() > 0
    print(f"{backup.said} {restored.tasks} tasks, {restored.games} games.")
