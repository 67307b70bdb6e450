"""What counts as the database being away, and what does not."""

from pathlib import Path

import asyncpg
import pytest

from rookery.server.db.fence import is_outage
from rookery.server.db.target import Target, socket_target
from tests.database import pool_on

pytestmark = pytest.mark.anyio


async def raised(target: Target, sql: str) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is the question
        async with pool_on(target) as pool:
            await pool.execute(sql)
    return caught.value


async def test_a_server_that_is_not_there_is_an_outage(tmp_path: Path) -> None:
    target = socket_target(str(tmp_path), 5432, "nobody", "nothing")
    with pytest.raises(OSError) as caught:  # noqa: PT011 - as above
        await asyncpg.connect(**target.connect_args)
    assert is_outage(caught.value)


async def test_a_session_that_is_ended_is_an_outage(database: Target) -> None:
    assert is_outage(await raised(database, "SELECT pg_terminate_backend(pg_backend_pid())"))


async def test_our_own_mistakes_are_no_outage(database: Target) -> None:
    assert not is_outage(await raised(database, "SELECT nonsense"))
    assert not is_outage(FileNotFoundError("a template"))
    assert not is_outage(TimeoutError())
