"""Nets: one contract, held by PostgreSQL and by its twin in memory alike."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.files.engine_files import NetRows, NetSearch, StoredNet
from tests.database import pool_on
from tests.twins.files import MemoryNets

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NET = StoredNet("nn-0123456789ab.nnue", "a blob", 60_000_000, "olga", NOW)
OLDER = replace(NET, name="nn-000000000000.nnue", blob="b", created=NOW - timedelta(days=1))


@pytest.fixture(params=["memory", "postgres"])
async def nets(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[NetRows]:
    if request.param == "memory":
        yield MemoryNets()
        return
    async with pool_on(database) as pool:
        yield NetRows(pool, queries)


async def test_an_added_net_comes_back_as_it_was(nets: NetRows) -> None:
    await nets.add(NET)
    assert await nets.get(NET.name) == NET
    assert await nets.get("nn-ffffffffffff.nnue") is None


async def test_a_name_can_be_taken_only_once(nets: NetRows) -> None:
    await nets.add(NET)
    assert await nets.add(replace(NET, blob="other")) == NET
    assert await nets.list_all() == (NET,)


async def test_nets_are_listed_newest_first(nets: NetRows) -> None:
    await nets.add(OLDER)
    await nets.add(NET)
    assert await nets.list_all() == (NET, OLDER)


async def test_downloads_add_up(nets: NetRows) -> None:
    await nets.add(NET)
    await nets.note_downloads({NET.name: 3, "nn-ffffffffffff.nnue": 1})
    await nets.note_downloads({NET.name: 2})
    assert await nets.get(NET.name) == replace(NET, downloads=5)


async def test_a_removed_net_is_gone_and_its_blob_is_nobodys(nets: NetRows) -> None:
    await nets.add(NET)
    await nets.add(OLDER)
    await nets.forget([NET.blob])
    assert await nets.get(NET.name) is None
    assert await nets.find_known(["a blob", "b", "c"]) == {"b"}
    await nets.forget([NET.blob])


async def test_nets_are_found_by_name_and_giver_as_far_as_one_may_know(nets: NetRows) -> None:
    await nets.add(NET)
    await nets.add(OLDER)
    assert await nets.find_page(NetSearch()) == (NET, OLDER)
    assert await nets.find_page(NetSearch("OLGA", hidden=(NET.name,))) == (OLDER,)
    assert await nets.find_page(NetSearch("olga", repeated=(OLDER.name,))) == (NET,)
    assert await nets.find_page(NetSearch("nn-0123")) == (NET,)
    assert await nets.find_page(NetSearch("nn-", user="LGA")) == (NET, OLDER)
    assert await nets.find_page(NetSearch("nn-0123", user="ada")) == ()
    assert await nets.find_page(NetSearch(user="olga", repeated=(OLDER.name,))) == (NET,)
    assert await nets.find_page(NetSearch("nn_0123")) == ()
    assert await nets.find_page(NetSearch(first=1)) == (OLDER,)
