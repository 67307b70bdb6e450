"""How fast machines play engines: one contract, held by PostgreSQL and by its twin in memory."""

from collections.abc import AsyncIterator

import pytest

from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.farm.statistics_rows import SpeedRows, ToldSpeeds
from tests.database import pool_on
from tests.makers import NOW, later
from tests.twins.records import MemorySpeeds

pytestmark = pytest.mark.anyio

TINY = ToldSpeeds("Tiny", (("olga-4cores-1a2b3c4d", 5.0), ("sven-1cores-5a6b7c8d", 7.5)))
OTHER = ToldSpeeds("Other", (("olga-4cores-1a2b3c4d", 3.0),))


@pytest.fixture(params=["memory", "postgres"])
async def speeds(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[SpeedRows]:
    if request.param == "memory":
        yield MemorySpeeds()
        return
    async with pool_on(database) as pool:
        yield SpeedRows(pool, queries)


async def test_what_was_told_comes_back_with_the_latest_at_the_end(speeds: SpeedRows) -> None:
    await speeds.save(TINY, NOW)
    await speeds.save(OTHER, later(1))
    assert await speeds.list_all() == (TINY, OTHER)
    again = ToldSpeeds("Tiny", TINY.machines[:1])
    await speeds.save(again, later(2))
    assert await speeds.list_all() == (OTHER, again)
