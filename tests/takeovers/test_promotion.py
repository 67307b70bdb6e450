"""PostgreSQL dies under the server and its synchronous standby is promoted: nothing that a worker
was told is lost, and the server finds the new primary by itself. The doctor looks at both hosts."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from tests.commands import run_command
from tests.faults.server_campaign import campaign_on
from tests.faults.standby import Pair, standby_pair

pytestmark = pytest.mark.anyio

GAMES = 100


async def test_the_books_balance_after_the_standby_was_promoted(tmp_path: Path) -> None:
    async with (
        standby_pair() as pair,
        campaign_on(tmp_path / "data", runs=4, database_url=pair.url) as campaign,
    ):
        async with campaign.fleet.at_work(12):
            await campaign.fleet.wait_for_games(GAMES)
            await pair.fail_over(cut_seconds=0.5)
            assert campaign.server is not None
            await campaign.wait_until_writing(campaign.server)
        audit = await campaign.audit()
        assert audit.wrong == ()


async def test_the_doctor_looks_at_the_clock_of_each_host(tmp_path: Path) -> None:
    async with standby_pair() as pair:
        levels = await judged_hosts(pair, tmp_path)
        assert levels == {pair.primary.socket: "ok", pair.standby.socket: "ok"}
        await asyncio.to_thread(pair.standby.kill)
        levels = await judged_hosts(pair, tmp_path)
        assert levels == {pair.primary.socket: "ok", pair.standby.socket: "warn"}


async def judged_hosts(pair: Pair, folder: Path) -> dict[Path, str]:
    """What the doctor says of each host, by its socket."""
    settings = {"ROOKERY_DATABASE_URL": pair.url}
    ask = partial(run_command, "doctor", "--json", data=folder / "data", settings=settings)
    found = json.loads((await asyncio.to_thread(ask)).stdout)
    hosts = [each for each in found if each["name"].startswith("host ")]
    return {
        Path(each["name"].removeprefix("host ").rpartition(":")[0]): each["level"] for each in hosts
    }
