"""One contract, held by PostgreSQL and by its twin in memory alike."""

from collections.abc import AsyncIterator

import pytest

from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.farm.store import FleetStore
from tests.storage.farm.stores import Store, opened
from tests.twins.farm import MemoryStore


@pytest.fixture(params=["memory", "postgres"])
async def store(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    async with opened(database, queries) as found:
        yield found


@pytest.fixture
async def postgres_store(database: Target, queries: Queries) -> AsyncIterator[FleetStore]:
    async with opened(database, queries) as found:
        yield found
