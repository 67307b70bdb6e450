"""Engine records: one contract, held by PostgreSQL and by its twin in memory alike."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from rookery.core.model.engine import EngineRecord, PresetRecord, ToolRecord
from rookery.core.protocol.v1 import EngineVersion
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.engines.engines import EngineRows
from tests.database import pool_on
from tests.twins.records import MemoryEngines

pytestmark = pytest.mark.anyio

RECORD = EngineRecord(
    name="Ethereal",
    tools=(ToolRecord("make", "4.3"),),
    presets=(PresetRecord("STC", {"tc": "10+0.1"}),),
    team="owls",
    private=True,
)
KEPT = EngineVersion(record=RECORD, changed=datetime(2026, 3, 1, 12, tzinfo=UTC), changed_by="olga")


@pytest.fixture(params=["memory", "postgres"])
async def rows(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[EngineRows]:
    if request.param == "memory":
        yield MemoryEngines()
        return
    async with pool_on(database) as pool:
        yield EngineRows(pool, queries)


async def test_a_saved_engine_comes_back_as_it_was(rows: EngineRows) -> None:
    await rows.save(KEPT)
    assert await rows.list_all() == (KEPT,)


async def test_the_last_writing_counts_and_a_removed_engine_is_kept(rows: EngineRows) -> None:
    await rows.save(KEPT)
    other = EngineRecord(name="Aardvark")
    await rows.save(replace(KEPT, record=other, changed_by="sven"))
    gone = replace(KEPT, changed_by="boris", removed=True)
    await rows.save(gone)
    first, second = await rows.list_all()
    assert (first.record.name, second) == ("Aardvark", gone)
