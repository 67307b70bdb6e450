"""Whose a file is: one contract, held by PostgreSQL and by its twin in memory alike."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from rookery.db.pool import Queries
from rookery.db.target import Target
from rookery.files.holdings import GivenAgain, HoldingRows
from rookery.files.store import QuotaExceeded
from tests.database import pool_on
from tests.twins.files import MemoryHoldings

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["memory", "postgres"])
async def rows(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[HoldingRows]:
    if request.param == "memory":
        yield MemoryHoldings()
        return
    async with pool_on(database) as pool:
        yield HoldingRows(pool, queries)


async def test_the_first_engine_keeps_a_file_until_it_is_gone(rows: HoldingRows) -> None:
    await rows.add("book.epd", "Strix")
    await rows.add("book.epd", "Felis")
    assert await rows.everything() == {"book.epd": "Strix"}
    await rows.remove("book.epd")
    assert await rows.everything() == {}


async def test_what_was_given_again_stays_until_it_is_taken_back_or_gone(
    rows: HoldingRows,
) -> None:
    first = GivenAgain("net", "", "sven", NOW, 5)
    second = GivenAgain("net", "crows~Corvus", "boris", NOW + timedelta(1), 5)
    for given in (second, first, first):
        await rows.give_again(given)
    assert await rows.given_again() == (first, second)
    await rows.take_back(second)
    assert await rows.given_again() == (first,)
    with pytest.raises(QuotaExceeded):
        await rows.give_again(GivenAgain("other", "", "sven", NOW, 6), limit=10)
    await rows.remove("net")
    assert await rows.given_again() == ()
