"""Whose a file is: one contract, held by PostgreSQL and by its twin in memory alike."""

from collections.abc import AsyncIterator

import pytest

from rookery.service.holdings import HoldingRows
from rookery.storage.holdings import MemoryHoldings, PostgresHoldings
from rookery.storage.queries import Queries
from rookery.storage.target import Target
from tests.database import pool_on

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", "postgres"])
async def rows(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[HoldingRows]:
    if request.param == "memory":
        yield MemoryHoldings()
        return
    async with pool_on(database) as pool:
        yield PostgresHoldings(pool, queries)


async def test_the_first_engine_keeps_a_file_until_it_is_gone(rows: HoldingRows) -> None:
    await rows.add("book.epd", "Strix")
    await rows.add("book.epd", "Felis")
    assert await rows.everything() == {"book.epd": "Strix"}
    await rows.remove("book.epd")
    assert await rows.everything() == {}
