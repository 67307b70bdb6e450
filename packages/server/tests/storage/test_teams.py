"""Teams: one contract, held by PostgreSQL and by its twin in memory alike."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from rookery.core.protocol.people import Team
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.identity.users import Users
from rookery.server.teams.teams import TeamExists, TeamRows
from tests.database import pool_on
from tests.people import OLGA, SVEN
from tests.twins.people import MemoryTeams

pytestmark = pytest.mark.anyio

OWLS = Team("owls", ("olga",), ("olga",), datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture(params=["memory", "postgres"])
async def rows(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[TeamRows]:
    if request.param == "memory":
        yield MemoryTeams()
        return
    async with pool_on(database) as pool:
        users = Users(pool, queries)
        for user in (OLGA, SVEN):
            await users.add(user)
        yield TeamRows(pool, queries)


async def test_a_team_comes_back_as_it_was(rows: TeamRows) -> None:
    await rows.add(OWLS)
    assert await rows.list_all() == (OWLS,)
    with pytest.raises(TeamExists):
        await rows.add(OWLS)


async def test_members_are_written_anew(rows: TeamRows) -> None:
    await rows.add(OWLS)
    larger = replace(OWLS, members=("olga", "sven"), leads=("sven",))
    await rows.save(larger)
    assert await rows.list_all() == (larger,)
