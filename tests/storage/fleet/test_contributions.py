"""What users' machines have played, from rows as the group commit writes them."""

from dataclasses import replace

import pytest

from rookery.storage.contributions import PostgresContributions
from rookery.storage.queries import Queries
from rookery.storage.target import Target
from tests.database import pool_on
from tests.storage.fleet.scenes import changed, kept, make_task, opened, played
from tests.unit.core.makers import make_run, pairs

pytestmark = pytest.mark.anyio

RUN = make_run("a")


async def test_games_are_those_of_the_users_own_machines(
    database: Target, queries: Queries
) -> None:
    mine = replace(make_task(RUN, 0), results=pairs(even=3))
    idle = make_task(RUN, 1)
    struck = replace(make_task(RUN, 2), results=pairs(even=5), bad=True)
    others = replace(make_task(RUN, 3), results=pairs(even=9))
    others = replace(others, machine=replace(others.machine, user="bob"))
    tasks = (mine, idle, struck, others)
    async with opened(database, queries) as store, pool_on(database) as pool:
        await kept(store, changed(played(RUN, *tasks), *tasks))
        given = PostgresContributions(pool, queries)
        assert await given.games(mine.machine.user) == {RUN.id: 6}
        assert await given.games("bob") == {RUN.id: 18}
        assert await given.games("nobody") == {}
