"""The log of accounts and nets: written by any process, read with the rest of the log."""

import pytest
from msgspec.structs import replace

from rookery.core.model.events import Action, Event, about_engine, about_net, about_team, about_user
from rookery.core.protocol.actions import All, Compare, Order
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.farm.read_values import LogVisibility
from rookery.server.farm.reads import FleetReads
from rookery.server.files.access import FileAccessRows
from rookery.server.identity.users import Audit
from tests.database import pool_on
from tests.makers import NOW, later
from tests.twins.farm import MemoryStore
from tests.twins.people import MemoryAudit

pytestmark = pytest.mark.anyio

ACCEPTED = about_user(Action.ACCEPT_USER, "ada", "boris", NOW, "accepted")
GIVEN = about_net("nn-0123456789ab.nnue", "olga", later(1))
STRIX = "Strix"


async def test_a_line_says_who_did_what_to_whom(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        await Audit(pool, queries).write(ACCEPTED)
        reads = FleetReads(pool, queries)
        wanted = Compare("user", Order.EQUAL, "ada")
        assert await reads.actions(wanted) == (replace(ACCEPTED, id="1"),)
        assert list(await reads.events(10)) == [ACCEPTED]


async def test_a_net_of_a_hidden_engine_is_not_told_of(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        await Audit(pool, queries).write(GIVEN)
        await FileAccessRows(pool, queries).add(GIVEN.nn, STRIX)
        reads = FleetReads(pool, queries)
        assert await reads.actions(All(()), sight=LogVisibility(frozenset({STRIX}))) == ()
        assert await reads.actions(All(())) == (replace(GIVEN, id="1"),)


MADE = about_team(Action.NEW_TEAM, "owls", "olga", later(2))
JOINED = about_team(Action.JOIN_TEAM, "owls", "olga", later(3), "is a member", "sven")
KEPT = about_engine(Action.NEW_ENGINE, STRIX, "olga", later(4))
OWN = about_user(Action.NEW_TOKEN, "olga", "olga", later(5), "1a2b for read")
STRANGERS = frozenset({STRIX})


@pytest.mark.parametrize(
    ("sight", "seen"),
    [
        (LogVisibility(STRANGERS), []),
        (LogVisibility(STRANGERS, frozenset({"crows"}), "sven"), []),
        (LogVisibility(frozenset(), frozenset({"owls"}), "sven"), [KEPT, JOINED, MADE]),
        (LogVisibility(frozenset(), frozenset({"owls"}), "olga"), [OWN, KEPT, JOINED, MADE]),
        (LogVisibility(STRANGERS, None, None), [OWN, JOINED, MADE]),
    ],
)
async def test_who_sees_what_of_teams_engines_and_tokens(
    database: Target, queries: Queries, sight: LogVisibility, seen: list[Event]
) -> None:
    told = (MADE, JOINED, KEPT, OWN)
    twin, everything = MemoryStore(), All(())
    async with pool_on(database) as pool:
        for event in told:
            await Audit(pool, queries).write(event)
            await MemoryAudit(twin.rows).write(event)
        found = await FleetReads(pool, queries).actions(everything, sight=sight)
        assert found == tuple(replace(event, id=str(told.index(event) + 1)) for event in seen)
        assert found == await twin.reads.actions(everything, sight=sight)
