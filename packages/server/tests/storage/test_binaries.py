"""Uploaded programs: one contract, held by PostgreSQL and by its twin in memory alike."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.files.engine_files import ProgramRows, StoredProgram
from tests.database import pool_on
from tests.twins.files import MemoryPrograms

pytestmark = pytest.mark.anyio

BINARY = StoredProgram("a" * 64, "blob", 5, "engine", "olga", datetime(2026, 3, 1, tzinfo=UTC))


@pytest.fixture(params=["memory", "postgres"])
async def binaries(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[ProgramRows]:
    if request.param == "memory":
        yield MemoryPrograms()
        return
    async with pool_on(database) as pool:
        yield ProgramRows(pool, queries)


async def test_an_added_program_comes_back_as_it_was(binaries: ProgramRows) -> None:
    assert await binaries.add(BINARY) == BINARY
    assert await binaries.get(BINARY.sha256) == BINARY
    assert await binaries.get("b" * 64) is None


async def test_the_first_of_equal_programs_stays(binaries: ProgramRows) -> None:
    await binaries.add(BINARY)
    assert await binaries.add(replace(BINARY, blob="other", user="sven")) == BINARY
    assert await binaries.find_known(["blob", "other"]) == {"blob"}
