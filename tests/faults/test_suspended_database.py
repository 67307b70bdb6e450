"""A database that hangs: people, programs and machines are told soon, while it still hangs."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import httpx
import pytest

from tests.faults.server_campaign import Campaign, campaign_on
from tests.rookery_process import LIMIT_SECONDS
from tests.wire.worker.farm import worker_info

pytestmark = pytest.mark.anyio

PAGES = ("/tests", "/log", "/api/v1/actions", "/api/v1/users")
SOON_SECONDS = 15.0
"""An answer that waits for the driver takes 20 seconds and more."""


@pytest.fixture
async def campaign(tmp_path: Path) -> AsyncIterator[Campaign]:
    async with campaign_on(tmp_path / "data", runs=2) as opened:
        yield opened


def client_of(campaign: Campaign) -> httpx.AsyncClient:
    fleet = campaign.fleet
    headers = {"authorization": f"Bearer {fleet.account.token}"}
    address = f"http://127.0.0.1:{fleet.lines.port}"
    # Reading certificates would take the loop longer than a callback may.
    return httpx.AsyncClient(base_url=address, headers=headers, timeout=SOON_SECONDS, verify=False)


async def statuses(client: httpx.AsyncClient, paths: Sequence[str]) -> dict[str, int]:
    answers = await asyncio.gather(*map(client.get, paths))
    return {path: answer.status_code for path, answer in zip(paths, answers, strict=True)}


async def test_pages_and_calls_are_refused_soon_and_served_again(campaign: Campaign) -> None:
    async with client_of(campaign) as client:
        assert await statuses(client, PAGES) == dict.fromkeys(PAGES, 200)
        async with campaign.suspended_database():
            first, then = await statuses(client, PAGES), await statuses(client, PAGES)
        assert first == then == dict.fromkeys(PAGES, 503)
        async with asyncio.timeout(LIMIT_SECONDS):
            while await statuses(client, PAGES) != dict.fromkeys(PAGES, 200):  # noqa: ASYNC110
                await asyncio.sleep(0.1)


async def test_people_and_machines_read_that_the_database_is_away(campaign: Campaign) -> None:
    account = campaign.fleet.account
    call = {"password": account.password, "worker_info": worker_info(account.name)}
    async with client_of(campaign) as client:
        async with campaign.suspended_database():
            page = await client.get("/tests", headers={"accept": "text/html"})
            machine = await client.post("/api/request_version", content=json.dumps(call))
        assert "database can" in page.text
        assert (machine.status_code, "database" in machine.text) == (503, True)
        assert machine.headers["content-type"].startswith("text/plain")
