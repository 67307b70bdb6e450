"""Secrets outlive a restart and are shared."""

import asyncio
from pathlib import Path

import pytest

from rookery.core.boundary.offload import Threads
from rookery.server.db.keys import (
    load_secret,
    load_session_secret,
    load_wheel_secret,
    read_key_file,
)
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
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


async def test_a_key_of_the_data_folder_is_taken_over_once(
    database: Target, queries: Queries, tmp_path: Path
) -> None:
    file, threads = tmp_path / "wheel.key", Threads()
    assert await threads.io(read_key_file, file) is None
    await threads.io(file.write_bytes, b"k" * 32)
    before = await threads.io(read_key_file, file)
    async with pool_on(database) as pool:
        assert await load_wheel_secret(pool, queries, before) == b"k" * 32
        assert await load_wheel_secret(pool, queries, None) == b"k" * 32
        assert await load_wheel_secret(pool, queries, b"another" * 4) == b"k" * 32
