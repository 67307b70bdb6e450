"""Being primary: one at a time, for as long as the database's clock says."""

import asyncpg
import pytest

from rookery.server.db.fence import FencedOff
from rookery.server.db.lease import Lease, LeaseHeld
from rookery.server.db.pool import Pool, Queries, application_name
from rookery.server.db.target import Problem, Target
from tests.database import pool_on

pytestmark = pytest.mark.anyio

EXPIRE = "UPDATE lease SET expires_at = clock_timestamp() - interval '1 second'"


class Clock:
    """Stands until a test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def lease(pool: Pool, queries: Queries, instance: str, clock: Clock | None = None) -> Lease:
    where = f"http://{instance}"
    return Lease(pool, queries, instance=instance, address=where, clock=clock or Clock())


async def test_nobody_holds_a_lease_at_first(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        assert not lease(pool, queries, "a").is_held()
        assert not (await lease(pool, queries, "a").read()).live


async def test_the_row_says_who_is_primary_and_where(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        mine = lease(pool, queries, "a")
        fence = await mine.take()
        seen = await mine.read()
        assert (seen.epoch, seen.holder, seen.address, seen.live) == (
            fence.epoch,
            "a",
            "http://a",
            True,
        )


async def test_a_second_process_is_told_who_is_primary(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        await lease(pool, queries, "a").take()
        with pytest.raises(LeaseHeld, match="a at http://a"):
            await lease(pool, queries, "b").take()


async def test_an_expired_lease_is_free(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        await lease(pool, queries, "a").take()
        await pool.execute(EXPIRE)
        assert (await lease(pool, queries, "b").take()).epoch == 2


async def test_a_released_lease_is_free(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        first = lease(pool, queries, "a")
        await first.take()
        await first.release()
        assert not first.is_held()
        await lease(pool, queries, "b").take()


async def test_the_holder_may_take_it_anew(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        mine = lease(pool, queries, "a")
        assert [(await mine.take()).epoch, (await mine.take()).epoch] == [1, 2]


async def test_the_holder_counts_by_its_own_clock(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        clock = Clock()
        mine = lease(pool, queries, "a", clock)
        await mine.take()
        clock.now += 9
        assert mine.is_held()
        clock.now += 2
        assert not mine.is_held()


async def test_a_heartbeat_prolongs_the_lease(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        clock = Clock()
        mine = lease(pool, queries, "a", clock)
        await mine.take()
        await pool.execute(EXPIRE)
        clock.now += 9
        await mine.renew()
        clock.now += 9
        assert mine.is_held()
        assert (await mine.read()).live


async def test_a_heartbeat_after_a_takeover_says_so(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        old = lease(pool, queries, "a")
        await old.take()
        await lease(pool, queries, "b").take(force=True)
        with pytest.raises(FencedOff):
            await old.renew()
        assert not old.is_held()


async def test_a_primary_that_writes_nothing_hears_of_a_takeover(
    database: Target, queries: Queries
) -> None:
    heard: list[str] = []
    async with pool_on(database) as pool:
        old, new = lease(pool, queries, "a"), lease(pool, queries, "b")
        await old.take()
        old.on_loss(heard.append)
        await new.take(force=True)
        with pytest.raises(FencedOff):
            await old.renew()
    assert heard == [str(FencedOff(epoch=1))]


async def test_a_takeover_ends_the_sessions_of_the_primary_before(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database, "a") as old, pool_on(database, "b") as new:
        await lease(old, queries, "a").take()
        await lease(new, queries, "b").take(force=True)
        left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1"
        assert await new.fetchval(left, application_name("a")) == 0


async def test_a_takeover_is_not_held_up_by_anyone_who_writes_for_long(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database, "cli") as other, pool_on(database, "b") as pool:
        connection = await other.acquire()
        await connection.execute("BEGIN")
        await connection.execute(queries["fence_pass_any"])
        mine = Lease(pool, queries, instance="b", address="")
        assert (await mine.take()).epoch == 1


async def test_a_takeover_that_stays_blocked_gives_up(database: Target, queries: Queries) -> None:
    stranger = await asyncpg.connect(**database.connect_args)
    async with pool_on(database) as pool, stranger.transaction():
        await stranger.execute(queries["fence_pass_any"])
        with pytest.raises(Problem, match="The fence could not be taken"):
            await Lease(pool, queries, instance="a", address="").take(seconds=0.5)
    await stranger.close()
