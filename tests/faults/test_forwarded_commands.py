"""Commands through a secondary happen once, though the primary dies under them."""

import random
from pathlib import Path

import pytest

from rookery.db.target import Target
from tests.faults.command_campaign import command_campaign

pytestmark = pytest.mark.anyio

KILLS = 1


async def test_each_command_happens_once_though_the_primary_is_killed_under_it(
    database: Target, tmp_path: Path
) -> None:
    chance = random.Random(15)
    async with command_campaign(database, tmp_path) as campaign:
        for _ in range(KILLS):
            await campaign.start()
            answers = await campaign.strike(chance)
            assert [each.status for each in answers if not each.is_done] == []
        assert await campaign.find_wrong() == []
