"""The whole server dies at every bad moment, and its database under it, while a fleet with every
fault reports over HTTP: the ledger is exact, and what is shown follows from the rows."""

import asyncio
from pathlib import Path

import pytest

from tests.faults.server_campaign import MOMENTS, campaign_on
from tests.faults.serving import count_corrections

pytestmark = pytest.mark.anyio


async def test_the_books_balance_after_every_kind_of_death(tmp_path: Path) -> None:
    async with campaign_on(tmp_path / "the data", runs=4) as campaign:
        fleet = campaign.fleet
        async with fleet.at_work(12):
            await campaign.strike("backend", 0.5)
            await campaign.strike("postgres", 0.5)
            await campaign.strike("server", 0.5)
            for moment in MOMENTS:
                await campaign.die_at(moment, 40)
            await campaign.start()
        audit = await campaign.audit()
        assert audit.wrong == ()
        assert audit.replayed > 0
        assert await asyncio.to_thread(count_corrections, campaign.data) == 0
        assert fleet.ledger.acknowledged_games() > 500
