"""The log of accounts and nets: written by any process, read with the rest of the log."""

import pytest

from rookery.core.events import Action, Event, about_user
from rookery.protocol.user.action_filter import All, Compare, Order
from rookery.storage.audit import PostgresAudit
from rookery.storage.fleet.logbook import documented
from rookery.storage.fleet.reads import PostgresReads
from rookery.storage.holdings import PostgresHoldings
from rookery.storage.queries import Queries
from rookery.storage.target import Target
from tests.database import pool_on
from tests.unit.core.makers import NOW, later

pytestmark = pytest.mark.anyio

ACCEPTED = about_user(Action.ACCEPT_USER, "ada", "boris", NOW, "accepted")
GIVEN = Event(Action.UPLOAD_NN, later(1), "olga", "", "", nn="nn-0123456789ab.nnue")
STRIX = "Strix"


async def test_a_line_says_who_did_what_to_whom(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        await PostgresAudit(pool, queries).write(ACCEPTED)
        reads = PostgresReads(pool, queries)
        wanted = Compare("user", Order.EQUAL, "ada")
        assert await reads.actions(wanted) == (documented(1, ACCEPTED),)
        assert list(await reads.events(10)) == [ACCEPTED]


async def test_a_net_of_a_hidden_engine_is_not_told_of(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        await PostgresAudit(pool, queries).write(GIVEN)
        await PostgresHoldings(pool, queries).add(GIVEN.nn, STRIX)
        reads = PostgresReads(pool, queries)
        assert await reads.actions(All(()), hidden=[STRIX]) == ()
        assert await reads.actions(All(())) == (documented(1, GIVEN),)
