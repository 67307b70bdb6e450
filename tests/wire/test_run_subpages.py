"""The pages of a run beside its overview, for runs in every state."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.fakes import HandClock
from tests.makers import run_id
from tests.pages.rows import filled
from tests.twins.farm import MemoryRows, MemoryStore
from tests.twins.sites import OpenSite, make_site, open_site

pytestmark = pytest.mark.anyio

NO_NUMBER = re.compile(r"\b(nan|inf|None|Infinity)\b")
PAGES = ("", "/live", "/elo", "/elo/live", "/tasks", "/stats")
PLAYED = run_id("late-move-pruning")


@pytest.fixture(scope="module")
def rows() -> MemoryRows:
    """Made before the loop turns; no test changes them."""
    return filled(HandClock().now())


@asynccontextmanager
async def opened(rows: MemoryRows) -> AsyncIterator[OpenSite]:
    async with open_site(make_site(clock=HandClock(), store=MemoryStore(rows))) as found:
        yield found


async def read(site: OpenSite, path: str) -> str:
    answer = await site.browser.get(path)
    assert answer.status_code == 200, f"{path}: {answer.text}"
    return answer.text


async def test_no_page_of_a_run_in_any_state_shows_what_is_no_number(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        for run in rows.runs:
            for page in PAGES:
                text = re.sub(r"<[^>]*>", " ", await read(site, f"/runs/{run}{page}"))
                assert not NO_NUMBER.search(text), f"/runs/{run}{page}"


async def test_tasks_are_searched_and_sorted_by_their_address(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        found = await read(site, f"/runs/{PLAYED}/tasks?text=ada&sort=games")
        assert "ada-16cores" in found
        assert "bob-8cores" not in found
        assert 'aria-sort="ascending"' in found
        assert "No task is like that." in await read(site, f"/runs/{PLAYED}/tasks?text=%25")


@pytest.mark.parametrize("query", ["page=0", "page=x", "sort=x;drop", "state=x"])
async def test_a_list_of_tasks_takes_any_address(rows: MemoryRows, query: str) -> None:
    async with opened(rows) as site:
        await read(site, f"/runs/{PLAYED}/tasks?{query}")


async def test_the_statistics_have_every_figure_behind_the_verdict(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        text = await read(site, f"/runs/{PLAYED}/stats")
        for word in ("Normalised Elo", "LLR, logistic", "Skewness", "Variance ratio", "Draw Elo"):
            assert word in text


async def test_the_official_servers_addresses_lead_to_ours(rows: MemoryRows) -> None:
    async with opened(rows) as site:
        for old, new in (("tasks", "tasks"), ("stats", "stats"), ("live_elo", "elo")):
            answer = await site.browser.get(f"/tests/{old}/{PLAYED}")
            assert answer.headers["location"] == f"/runs/{PLAYED}/{new}"
