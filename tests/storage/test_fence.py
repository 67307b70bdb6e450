"""The transaction that every write goes through."""

import asyncpg
import pytest

from rookery.db.fence import Fence, FencedOff
from rookery.db.lease import Lease
from rookery.db.pool import Pool, Queries
from rookery.db.target import Target
from tests.database import pool_on

pytestmark = pytest.mark.anyio

WRITE = "INSERT INTO secrets VALUES ('written', 'x')"


async def primary(pool: Pool, queries: Queries, instance: str = "test") -> Fence:
    return await Lease(pool, queries, instance=instance, address="").take(force=True)


async def written(pool: Pool) -> bool:
    found: bool = await pool.fetchval("SELECT EXISTS (SELECT FROM secrets WHERE name = 'written')")
    return found


async def test_what_the_block_writes_is_committed(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        async with (await primary(pool, queries)).write() as connection:
            await connection.execute(WRITE)
        assert await written(pool)


async def test_a_block_that_fails_writes_nothing(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        fence = await primary(pool, queries)
        with pytest.raises(asyncpg.DivisionByZeroError):
            async with fence.write() as connection:
                await connection.execute(f"{WRITE}; SELECT 1 / 0")
        assert not await written(pool)


async def test_a_primary_of_the_past_writes_nothing(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        past = await primary(pool, queries)
        await primary(pool, queries)
        with pytest.raises(FencedOff, match="epoch 1"):
            async with past.write() as connection:
                await connection.execute(WRITE)
        assert not await written(pool)


async def test_what_any_process_may_write_is_written_in_any_epoch(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database) as pool:
        anyone = Fence(pool, queries)
        await primary(pool, queries)
        async with anyone.write() as connection:
            await connection.execute(WRITE)
        assert await written(pool)


async def test_a_connection_that_breaks_before_the_commit_writes_nothing(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database) as pool, pool_on(database, "other") as other:
        fence = await primary(pool, queries)

        async def write_and_lose_the_connection() -> None:
            async with fence.write() as connection:
                await connection.execute(WRITE)
                await other.execute("SELECT pg_terminate_backend($1)", connection.get_server_pid())

        with pytest.raises(Exception, match="onnection"):
            await write_and_lose_the_connection()
        assert not await written(other)
