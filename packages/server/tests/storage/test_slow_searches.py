"""Searches that the database can't answer in time: people are told so on the page itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import httpx
import pytest

from rookery.server.app.routes import create_app
from rookery.server.db.target import Target
from tests.fakes import HandClock
from tests.storage.test_page_queries import open_server

pytestmark = pytest.mark.anyio

SEARCHES = {
    "/tests?text=late+move": "The search took too long. Narrow it down by date, user",
    "/log?text=late+move": "The search took too long. Narrow it down by date, kind",
    "/errors?days=30": "This took too long to count. Choose a shorter period.",
}


@asynccontextmanager
async def locked_tables(database: Target, *names: str) -> AsyncIterator[None]:
    """Nobody else reads them for the length of the block."""
    connection = await asyncpg.connect(**database.connect_args)
    try:
        async with connection.transaction():
            await connection.execute(f"LOCK TABLE {', '.join(names)}")
            yield
    finally:
        await connection.close()


@asynccontextmanager
async def browser_of(database: Target, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Of somebody who looks at a server whose lists of runs and actions nobody can read."""
    async with open_server(database, folder, HandClock()) as site:
        transport = httpx.ASGITransport(await site.threads.io(create_app, site))
        async with (
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
            locked_tables(database, "runs", "actions"),
        ):
            yield client


async def test_a_search_that_takes_too_long_says_so_and_how_to_ask_for_less(
    database: Target, tmp_path: Path
) -> None:
    async with browser_of(database, tmp_path) as browser:
        pages = await asyncio.gather(*map(browser.get, SEARCHES))
    found = {page.url.raw_path.decode(): page for page in pages}
    assert {path: page.status_code for path, page in found.items()} == dict.fromkeys(SEARCHES, 200)
    assert [path for path, said in SEARCHES.items() if said not in found[path].text] == []


async def test_a_script_is_told_so_too(database: Target, tmp_path: Path) -> None:
    async with browser_of(database, tmp_path) as browser:
        answer = await browser.post("/api/actions", json={"message": "late move"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")
    assert "The search took too long." in answer.json()["error"]


async def test_many_slow_searches_leave_connections_for_everybody_else(
    database: Target, tmp_path: Path
) -> None:
    async with browser_of(database, tmp_path) as browser:
        paths = [f"/tests?text=idea{number}" for number in range(12)]
        searches = [asyncio.create_task(browser.get(path)) for path in paths]
        await asyncio.sleep(0.5)  # until all that may have begun
        async with asyncio.timeout(1.5):
            assert (await browser.get("/users/nobody")).status_code == 404
        assert not any(search.done() for search in searches)
        told = [(await search).text for search in searches]
        assert ["took too long" in text for text in told] == [True] * len(told)
