"""A fleet plays on over two servers while the primary dies in every way: the ledger is exact."""

from pathlib import Path

import pytest

from rookery.db.target import Target
from tests.faults.takeover_campaign import takeover_campaign

pytestmark = pytest.mark.anyio

TAKEOVER_SECONDS = 5.0
"""On a machine that does nothing else; these tests share theirs."""
SLACK = 3.0


async def test_a_step_down_fails_no_call_and_loses_nothing(
    database: Target, tmp_path: Path
) -> None:
    async with takeover_campaign(database, tmp_path) as campaign:
        async with campaign.fleet.at_work(10):
            await campaign.step_down()
            refused = campaign.fleet.lines.refused
            await campaign.step_down()
        audit = await campaign.audit()
        assert (audit.wrong, refused, campaign.fleet.lines.refused) == ((), 0, 0)
        assert campaign.fleet.ledger.acknowledged_games() > 100


async def test_the_books_balance_though_the_primary_is_stopped_cut_off_and_killed(
    database: Target, tmp_path: Path
) -> None:
    async with takeover_campaign(database, tmp_path) as campaign:
        async with campaign.fleet.at_work(10):
            taken = [
                await campaign.stop_and_wake(),
                await campaign.cut_off(),
                await campaign.kill(),
            ]
        audit = await campaign.audit()
        assert audit.wrong == ()
        assert max(taken) < SLACK * TAKEOVER_SECONDS, taken
        print("taken over after", [round(each, 2) for each in taken])
