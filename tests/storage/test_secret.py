"""Secrets outlive a restart and are shared."""

import asyncio

import pytest

from rookery.db.keys import load_secret, load_session_secret
from rookery.db.pool import Queries
from rookery.db.target import Target
from tests.database import pool_on

pytestmark = pytest.mark.anyio


async def test_a_secret_stays_the_same_after_a_restart(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        first = await load_session_secret(pool, queries)
    async with pool_on(database) as pool:
        assert await load_session_secret(pool, queries) == first


async def test_processes_that_start_at_once_agree(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        seen = await asyncio.gather(*(load_session_secret(pool, queries) for _ in range(4)))
        assert len(set(seen)) == 1


async def test_secrets_of_other_names_differ(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        one, two = await load_secret(pool, queries, "one"), await load_secret(pool, queries, "two")
        assert one != two
        assert len(one) == 32
