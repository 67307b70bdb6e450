"""The rows by which several servers know of one another."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rookery.core.clock import SystemClock
from rookery.server.db.lease import Lease
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.servers.instances import (
    GONE_SECONDS,
    Instance,
    InstanceFigures,
    InstanceRows,
    Presence,
)
from tests.database import pool_on
from tests.storage.farm.stores import opened

pytestmark = pytest.mark.anyio


class AdvancedClock(SystemClock):
    """A clock that is ten minutes ahead."""

    def now(self) -> datetime:
        return super().now() + timedelta(minutes=10)


FIRST = Instance(
    "a", "http://a:1", "0.1", 3, "primary", datetime(2030, 1, 1, tzinfo=UTC), InstanceFigures()
)
SECOND = replace(FIRST, name="b", role="secondary", figures=InstanceFigures(commits_behind=7))
LONG_AGO = "UPDATE instances SET seen = seen - interval '11 seconds' WHERE name = 'a'"
VERY_LONG_AGO = "UPDATE instances SET seen = seen - interval '2 hours' WHERE name = 'a'"


async def test_servers_learn_of_one_another(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        rows = InstanceRows(pool, queries)
        assert (await rows.put(SECOND)).others == 0
        assert (await rows.put(FIRST)).others == 1
        found = await rows.list_all()
        assert [(each.name, each.is_alive) for each in found] == [("a", True), ("b", True)]
        assert found[1].figures == SECOND.figures


async def test_a_server_learns_how_far_its_clock_is_from_the_databases(
    database: Target, queries: Queries
) -> None:
    wrong = AdvancedClock()
    async with pool_on(database) as pool:
        rows = InstanceRows(pool, queries)
        async with Presence(rows, lambda: FIRST, clock=wrong).kept() as presence:
            assert round(presence.clock_off_seconds) == 600


async def test_one_that_is_silent_for_long_is_taken_for_dead(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database) as pool:
        rows = InstanceRows(pool, queries)
        await rows.put(FIRST)
        await pool.execute(LONG_AGO)
        assert (await rows.put(SECOND)).others == 0
        silent = {each.name: each.silent_seconds for each in await rows.list_all()}
        assert silent["b"] < GONE_SECONDS < silent["a"]


async def test_one_alone_is_shown_as_primary_though_another_was_until_it_died(
    database: Target, queries: Queries
) -> None:
    """Its row says what it was when it was heard of last."""
    async with pool_on(database) as pool:
        rows = InstanceRows(pool, queries)
        await rows.put(FIRST)
        await rows.put(SECOND)
        await Lease(pool, queries, instance="b", address="http://b:1").take()
        roles = [(each.name, each.role) for each in await rows.list_all()]
        assert roles == [("b", "primary"), ("a", "secondary")]


async def test_nobody_is_shown_as_primary_while_nobody_holds_the_lease(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database) as pool:
        rows = InstanceRows(pool, queries)
        await rows.put(FIRST)
        lease = Lease(pool, queries, instance="a", address="http://a:1")
        await lease.take()
        await lease.release()
        assert [each.role for each in await rows.list_all()] == ["secondary"]


async def test_servers_learn_which_form_of_calls_all_others_read(
    database: Target, queries: Queries
) -> None:
    newer = replace(SECOND, figures=InstanceFigures(reads_form=2))
    async with pool_on(database) as pool:
        rows = InstanceRows(pool, queries)
        assert (await rows.put(newer)).reads_form is None
        assert (await rows.put(replace(newer, name="c"))).reads_form == 2
        assert (await rows.put(FIRST)).reads_form == 2
        assert (await rows.put(newer)).reads_form == 1


async def test_one_that_stops_is_gone_at_once(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        rows = InstanceRows(pool, queries)
        await rows.put(FIRST)
        await rows.remove("a")
        assert await rows.list_all() == ()


async def test_one_that_starts_removes_the_rows_of_those_that_died_long_ago(
    database: Target, queries: Queries
) -> None:
    async with pool_on(database) as pool:
        rows = InstanceRows(pool, queries)
        await rows.put(FIRST)
        await pool.execute(VERY_LONG_AGO)
        async with Presence(rows, lambda: SECOND).kept():
            assert await pool.fetchval("SELECT array_agg(name) FROM instances") == ["b"]


async def test_what_is_published_is_sent_once_to_who_knows_it(
    database: Target, queries: Queries
) -> None:
    async with opened(database, queries) as store:
        await store.take()
        await store.publish("figures", b"some")
        first = await store.reads.published("figures")
        assert first is not None
        assert first.body == b"some"
        await store.publish("figures", None)
        second = await store.reads.published("figures", first.changed)
        assert second is not None
        assert (second.changed, second.body) == (first.changed, None)
