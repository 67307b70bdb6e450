"""Whose a file is: one contract, held by PostgreSQL and by its twin in memory alike."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.files.access import FileAccessRows, RepeatedUpload
from rookery.server.files.engine_files import NetRows, StoredNet
from rookery.server.files.store import QuotaExceeded
from tests.database import pool_on
from tests.twins.files import MemoryFileAccess

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["memory", "postgres"])
async def rows(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[FileAccessRows]:
    if request.param == "memory":
        yield MemoryFileAccess()
        return
    async with pool_on(database) as pool:
        yield FileAccessRows(pool, queries)


async def test_the_first_engine_keeps_a_file_until_it_is_gone(rows: FileAccessRows) -> None:
    await rows.add("book.epd", "Strix")
    await rows.add("book.epd", "Felis")
    assert await rows.list_engines() == {"book.epd": "Strix"}
    await rows.remove("book.epd")
    assert await rows.list_engines() == {}


async def test_what_was_given_again_stays_until_it_is_taken_back_or_gone(
    rows: FileAccessRows,
) -> None:
    first = RepeatedUpload("net", "", "sven", NOW, 5)
    second = RepeatedUpload("net", "crows~Corvus", "boris", NOW + timedelta(1), 5)
    for given in (second, first, first):
        await rows.add_repeat(given)
    assert await rows.list_repeats() == (first, second)
    await rows.remove_repeat(second)
    assert await rows.list_repeats() == (first,)
    with pytest.raises(QuotaExceeded):
        await rows.add_repeat(RepeatedUpload("other", "", "sven", NOW, 6), limit=10)
    await rows.remove("net")
    assert await rows.list_repeats() == ()


async def test_a_file_of_an_engine_is_its_engines_with_the_very_commit_that_adds_it(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database) as pool:
        nets, rows = NetRows(pool, queries), FileAccessRows(pool, queries)
        net = StoredNet("nn-0123456789ab.nnue", "a blob", 5, "olga", NOW)
        with pytest.raises(QuotaExceeded):
            await nets.add(net, limit=4, engine="crows~Corvus")
        assert await rows.list_engines() == {}
        await nets.add(net, engine="crows~Corvus")
        await nets.add(replace(net, blob="other"), engine="Strix")
        public = replace(net, name="nn-000000000000.nnue", blob="b")
        await nets.add(public)
        await nets.add(replace(public, blob="other"), engine="crows~Corvus")
        assert await rows.list_engines() == {net.name: "crows~Corvus"}
