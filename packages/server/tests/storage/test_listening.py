"""Listening to other processes through PostgreSQL, over broken connections too."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from rookery.core.model.run import Run
from rookery.server.db.listening import ChangeNotices, Channel, Listening
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.farm.events import Bus, Notice
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.store import publish_notice
from rookery.server.identity.users import Users
from tests.database import pool_on, statement
from tests.eventually import eventually
from tests.makers import make_run
from tests.people import OLGA
from tests.storage.farm.stores import changed, finished, opened

pytestmark = pytest.mark.anyio

CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE application_name = 'rookery listening test' AND datname = current_database()"
)


@dataclass
class Ears:
    """What came through."""

    changes: ChangeNotices
    listening: Listening
    heard: list[str] = field(default_factory=list)
    missed: int = 0

    def miss(self) -> None:
        self.missed += 1


@pytest.fixture
async def ears(database: Target) -> AsyncIterator[Ears]:
    changes = ChangeNotices()
    found = Ears(changes, Listening(database, changes, instance="test"))
    changes.subscribe(Channel.USERS, found.heard.append, found.miss)
    async with found.listening.opened():
        await eventually(lambda: found.missed == 1)
        yield found


async def test_a_changed_user_is_heard_of(ears: Ears, database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        await Users(pool, queries).add(OLGA)
    await eventually(lambda: ears.heard == ["olga"])


async def test_a_connection_that_was_cut_is_made_anew(ears: Ears, database: Target) -> None:
    await statement(database, CUT)
    await eventually(lambda: ears.missed == 2)
    await statement(database, "SELECT pg_notify('users', 'ada')")
    await eventually(lambda: ears.heard == ["ada"])
    assert ears.listening.stats().connections == 2


async def test_another_process_hears_of_commits_and_asks_the_rows_after_a_gap(
    ears: Ears, database: Target, queries: Queries
) -> None:
    run, other, ended = make_run("a"), make_run("b"), finished("c")
    async with opened(database, queries) as store, pool_on(database) as pool:
        commits = await store.take()

        async def commit(changes: Run) -> int:
            number = commits.put(changed(changes))
            await commits.wait_committed(number)
            return number

        await commit(run)
        async with Bus(FleetReads(pool, queries)).opened() as bus:
            ears.changes.subscribe(Channel.FLEET, lambda text: publish_notice(text, bus), bus.miss)
            await eventually(lambda: bus.sequence == 1)
            await commit(other)
            await eventually(lambda: bus.sequence == 2)
            assert bus.since(1) == Notice(2, frozenset({other.id}))
            assert bus.stats().gaps == 1
            await statement(database, CUT)
            await commit(ended)
            await eventually(lambda: bus.sequence == 3)
            assert bus.since(2) == Notice(3, frozenset({ended.id}))


async def test_nonsense_on_the_channel_is_a_gap(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool, Bus(FleetReads(pool, queries)).opened() as bus:
        await eventually(lambda: not bus.stats().behind)
        publish_notice("{", bus)
        assert bus.stats().behind
        await eventually(lambda: not bus.stats().behind)
