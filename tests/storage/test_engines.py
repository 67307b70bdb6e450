"""Engine records: one contract, held by PostgreSQL and by its twin in memory alike."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from rookery.db.pool import Queries
from rookery.db.target import Target
from rookery.farm.engine_rows import EngineRows, KeptEngine
from rookery.model.engine import EngineRecord, PresetRecord, ToolRecord
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
KEPT = KeptEngine(RECORD, datetime(2026, 3, 1, 12, tzinfo=UTC), "olga")


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
    assert await rows.everything() == (KEPT,)


async def test_the_last_writing_counts_and_a_removed_engine_is_kept(rows: EngineRows) -> None:
    await rows.save(KEPT)
    await rows.save(KeptEngine(EngineRecord(name="Aardvark"), KEPT.changed, "sven"))
    gone = replace(KEPT, changed_by="boris", removed=True)
    await rows.save(gone)
    first, second = await rows.everything()
    assert (first.record.name, second) == ("Aardvark", gone)
