"""The pool: limits on every session, patience at the start, an end that does not hang."""

from pathlib import Path

import pytest

from rookery.server.db.pool import NoConnection, open_pool
from rookery.server.db.target import Target, socket_target
from tests.database import pool_on

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("idle_in_transaction_session_timeout", "1s"),
        ("default_transaction_isolation", "read committed"),
        ("statement_timeout", "5s"),
        ("application_name", "rookery test"),
        ("TimeZone", "UTC"),
    ],
)
async def test_every_session_has_its_limits(database: Target, setting: str, value: str) -> None:
    async with pool_on(database) as pool:
        assert await pool.fetchval("SELECT current_setting($1)", setting) == value


async def test_a_server_that_is_not_there_is_named_after_some_patience(tmp_path: Path) -> None:
    nowhere = socket_target(str(tmp_path), 5432, "rookery", "rookery")
    with pytest.raises(NoConnection, match="within 0"):
        async with open_pool(nowhere, instance="test", connect_seconds=0.2):
            pass


async def test_a_connection_in_use_does_not_hold_up_the_end(database: Target) -> None:
    said: list[str] = []

    def log(event: str, /, **_fields: object) -> None:
        said.append(event)

    async with open_pool(database, instance="test", close_seconds=0.1, log=log) as pool:
        await pool.acquire()
    assert said == ["pool_cut"]


async def test_a_pool_goes_on_after_its_sessions_were_ended(database: Target) -> None:
    async with pool_on(database) as pool, pool_on(database, "other") as other:
        pid = await pool.fetchval("SELECT pg_backend_pid()")
        await other.execute("SELECT pg_terminate_backend($1, 5000)", pid)
        assert await pool.fetchval("SELECT pg_backend_pid()") != pid
