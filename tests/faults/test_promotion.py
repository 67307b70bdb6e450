"""PostgreSQL dies under the server and its synchronous standby is promoted: nothing that a worker
was told is lost, and the server finds the new primary by itself."""

import asyncio
from pathlib import Path

import pytest

from tests.faults.server_campaign import campaign_on
from tests.faults.standby import standby_pair

pytestmark = pytest.mark.anyio


async def test_the_books_balance_after_the_standby_was_promoted(tmp_path: Path) -> None:
    async with (
        standby_pair() as pair,
        campaign_on(tmp_path / "data", runs=4, database_url=pair.url) as campaign,
    ):
        async with campaign.fleet.at_work(12):
            await asyncio.sleep(1)
            await pair.fail_over(cut_seconds=0.5)
            assert campaign.server is not None
            await campaign.get_over_it(campaign.server)
        audit = await campaign.audit()
        assert audit.wrong == ()
        assert campaign.fleet.ledger.acknowledged_games() > 100
