"""The transaction that every write goes through."""

import asyncio

import asyncpg
import pytest

from rookery.server.db.fence import Fence, FencedOff, FencedStatements, OutcomeUnknown
from rookery.server.db.lease import Lease
from rookery.server.db.pool import Pool, Queries
from rookery.server.db.target import Target
from tests.database import pool_on
from tests.eventually import eventually

pytestmark = pytest.mark.anyio

WRITE = "INSERT INTO secrets VALUES ('written', 'x')"
STATEMENT = """
    WITH pass AS (SELECT epoch FROM fence WHERE epoch = $1 FOR SHARE),
    done AS (INSERT INTO secrets SELECT 'written', 'x' FROM pass)
    SELECT 1 FROM pass
"""


def slowly(seconds: float) -> str:
    """The statement, taking so long once it has passed the fence."""
    return STATEMENT.replace("SELECT 1", f"SELECT length(pg_sleep({seconds} + 0 * epoch)::text)")


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


async def cancelled_after(fence: Fence, steps: int) -> bool:
    """Whether a write still went on after so many steps of the loop; it was then cancelled."""

    async def write() -> None:
        async with fence.write() as connection:
            await connection.execute("SELECT 1")

    task = asyncio.create_task(write())
    for _ in range(steps):
        await asyncio.sleep(0)
    went_on = task.cancel()
    await asyncio.wait([task])
    return went_on


async def test_no_connection_returns_to_the_pool_in_a_transaction_wherever_a_write_is_cancelled(
    database: Target, queries: Queries
) -> None:
    told: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: told.append(context["message"]))
    try:
        async with pool_on(database) as pool:
            fence = Fence(pool, queries)
            steps = 0
            while await cancelled_after(fence, steps):
                steps += 1
            async with fence.write() as connection:
                await connection.execute(WRITE)
            assert await written(pool)
    finally:
        loop.set_exception_handler(None)
    assert steps > 5
    assert told == []


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


async def begun(write: "asyncio.Task[None]", other: Pool, event: str) -> None:
    """Returns when the statement of this task waits for something in the database."""
    waits = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = $1)"
    while not await other.fetchval(waits, event):
        assert not write.done(), write
        await asyncio.sleep(0.01)


async def test_a_single_statement_is_committed(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        statements = FencedStatements(await primary(pool, queries))
        await statements.write(STATEMENT)
        assert await written(pool)
        await statements.close()


async def test_a_single_statement_of_the_past_writes_nothing(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database) as pool:
        statements = FencedStatements(await primary(pool, queries))
        await primary(pool, queries)
        with pytest.raises(FencedOff, match="epoch 1"):
            await statements.write(STATEMENT)
        assert not await written(pool)
        await statements.close()


async def test_a_single_statement_that_waits_for_a_takeover_writes_nothing_after_it(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database) as pool, pool_on(database, "other") as other:
        statements = FencedStatements(await primary(pool, queries))
        async with other.acquire() as taking, taking.transaction():
            await taking.execute(queries["fence_raise"])
            write = asyncio.create_task(statements.write(STATEMENT))
            await begun(write, other, "transactionid")
        with pytest.raises(FencedOff):
            await write
        assert not await written(pool)
        await statements.close()


async def test_a_single_statement_that_waits_for_a_takeover_that_fails_is_committed(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database) as pool, pool_on(database, "other") as other:
        statements = FencedStatements(await primary(pool, queries))
        async with other.acquire() as taking:
            failing = taking.transaction()
            await failing.start()
            await taking.execute(queries["fence_raise"])
            write = asyncio.create_task(statements.write(STATEMENT))
            await begun(write, other, "transactionid")
            await failing.rollback()
        await write
        assert await written(pool)
        await statements.close()


async def test_a_takeover_waits_for_a_single_statement_and_finds_what_it_wrote(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database) as pool, pool_on(database, "other") as other:
        statements = FencedStatements(await primary(pool, queries))
        write = asyncio.create_task(statements.write(slowly(0.3)))
        await begun(write, other, "PgSleep")
        await other.execute(queries["fence_raise"])
        assert await written(other)
        await write
        await statements.close()


async def test_a_takeover_ends_the_session_of_single_statements(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database, "old") as pool, pool_on(database, "new") as other:
        statements = FencedStatements(await primary(pool, queries, "old"))
        write = asyncio.create_task(statements.write(slowly(4)))
        await begun(write, other, "PgSleep")
        await primary(other, queries, "new")
        with pytest.raises(OutcomeUnknown):
            await write
        assert not await written(other)
        await statements.close()


async def test_a_connection_that_ended_between_two_statements_is_replaced(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database, "old") as pool, pool_on(database, "other") as other:
        statements = FencedStatements(await primary(pool, queries, "old"))
        await statements.write(STATEMENT)
        await other.execute("DELETE FROM secrets")
        await other.execute(queries["fence_end_holder"], "rookery old")
        await eventually(lambda: pool.get_size() == 0)
        await statements.write(STATEMENT)
        assert await written(other)
        await statements.close()


@pytest.mark.parametrize(("trusted_seconds", "sessions"), [(60.0, 1), (0.0, 2)])
async def test_a_connection_is_kept_unless_it_was_silent_for_long(
    database: Target, queries: Queries, trusted_seconds: float, sessions: int
) -> None:
    """A firewall may have dropped it, and then a statement would get no answer."""
    by = "INSERT INTO secrets SELECT pg_backend_pid()::text, 'x' FROM pass ON CONFLICT DO NOTHING"
    sql = STATEMENT.replace("INSERT INTO secrets SELECT 'written', 'x' FROM pass", by)
    async with pool_on(database) as pool:
        fence = await primary(pool, queries)
        statements = FencedStatements(fence, trusted_seconds=trusted_seconds)
        await statements.write(sql)
        await statements.write(sql)
        assert await pool.fetchval("SELECT count(*) FROM secrets") == sessions
        await statements.close()
