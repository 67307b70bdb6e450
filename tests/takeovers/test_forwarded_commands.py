"""Commands through a secondary happen once, though the primary dies under them."""

import random
from pathlib import Path

import pytest

from rookery.server.db.target import Target
from tests.faults.forwarded_commands import ForwardedCommands
from tests.faults.several_servers import several_servers

pytestmark = pytest.mark.anyio

KILLS = 1


async def test_each_command_happens_once_though_the_primary_is_killed_under_it(
    database: Target, tmp_path: Path, may_block_the_loop: None
) -> None:
    """To make the people's first client takes long, on this very loop, which serves nobody."""
    chance = random.Random(15)
    async with several_servers(database, tmp_path, 1, runs=0, seed=15) as farm:
        commands = ForwardedCommands(farm)
        for _ in range(KILLS):
            await farm.start()
            answers = await commands.strike(chance)
            assert [each.status for each in answers if not each.is_done] == []
        assert await farm.people.find_wrong() == []
