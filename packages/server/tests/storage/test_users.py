"""Users: one contract, held by PostgreSQL and by its twin in memory alike."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.identity.users import (
    EndedSessions,
    UnknownUser,
    User,
    UserExists,
    UserKind,
    UserQuery,
    Users,
)
from tests.database import pool_on
from tests.twins.people import MemoryEndedSessions, MemoryUsers

pytestmark = pytest.mark.anyio

ANNA = User(
    name="anna",
    email="anna@example.org",
    password_hash="$argon2id$...",
    groups=frozenset({"group:approvers", "group:admins"}),
    blocked=False,
    pending=True,
    machine_limit=16,
    created=datetime(2025, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    repositories={"Strix": "https://example.org/anna/strix"},
)


@pytest.fixture(params=["memory", "postgres"])
async def users(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[Users]:
    if request.param == "memory":
        yield MemoryUsers()
        return
    async with pool_on(database) as pool:
        yield Users(pool, queries)


async def test_a_stranger_is_nobody(users: Users) -> None:
    assert await users.by_name("anna") is None


async def test_an_added_user_comes_back_as_it_was(users: Users) -> None:
    await users.add(ANNA)
    assert await users.by_name("anna") == ANNA


async def test_a_name_is_exact(users: Users) -> None:
    await users.add(ANNA)
    assert await users.by_name("Anna") is None


async def test_a_name_can_be_taken_only_once(users: Users) -> None:
    await users.add(ANNA)
    with pytest.raises(UserExists, match="anna"):
        await users.add(replace(ANNA, email="other@example.org"))
    assert await users.by_name("anna") == ANNA


async def test_saving_replaces_everything_but_the_name(users: Users) -> None:
    await users.add(ANNA)
    changed = replace(ANNA, blocked=True, pending=False, groups=frozenset(), machine_limit=0)
    await users.save(changed)
    assert await users.by_name("anna") == changed


async def test_a_stranger_cannot_be_saved(users: Users) -> None:
    with pytest.raises(UnknownUser, match="anna"):
        await users.save(ANNA)


async def test_changes_that_come_together_all_count(users: Users) -> None:
    await users.add(ANNA)

    def add(name: str) -> Callable[[User], User]:
        return lambda now: replace(now, repositories={**now.repositories, name: "x"})

    names = [f"engine{number}" for number in range(8)]
    await asyncio.gather(*(users.change("anna", add(name)) for name in names))
    anna = await users.by_name("anna")
    assert anna is not None
    assert set(anna.repositories) == {*ANNA.repositories, *names}


async def test_a_change_that_is_refused_changes_nothing(users: Users) -> None:
    await users.add(ANNA)

    def refuse(_user: User) -> User:
        raise UserExists("anna")

    for attempt in (users.change("anna", refuse), users.remove("anna", refuse)):
        with pytest.raises(UserExists):
            await attempt
    assert await users.by_name("anna") == ANNA


async def test_users_are_counted(users: Users) -> None:
    assert await users.count() == 0
    await users.add(ANNA)
    await users.add(replace(ANNA, name="bert"))
    assert await users.count() == 2


async def test_every_process_hears_of_a_change(database: Target, queries: Queries) -> None:
    heard: asyncio.Queue[object] = asyncio.Queue()
    listener = await asyncpg.connect(**database.connect_args)
    await listener.add_listener("users", lambda *said: heard.put_nowait(said[-1]))
    async with pool_on(database) as pool:
        await Users(pool, queries).add(ANNA)
        assert await asyncio.wait_for(heard.get(), 60) == "anna"
    await listener.close()


async def test_a_removed_user_is_gone(users: Users) -> None:
    await users.add(ANNA)
    await users.remove("anna", lambda _: None)
    assert await users.by_name("anna") is None
    with pytest.raises(UnknownUser, match="anna"):
        await users.remove("anna", lambda _: None)


@pytest.fixture(params=["memory", "postgres"])
async def sessions(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[EndedSessions]:
    if request.param == "memory":
        yield MemoryEndedSessions()
        return
    async with pool_on(database) as pool:
        yield EndedSessions(pool, queries)


async def test_ended_sessions_are_kept_until_their_cookies_expire(sessions: EndedSessions) -> None:
    now = ANNA.created
    await sessions.end(b"short", now, now + timedelta(days=7))
    await sessions.end(b"short", now, now + timedelta(days=7))
    await sessions.end(b"long", now, now + timedelta(days=400))
    assert await sessions.all() == {b"short", b"long"}
    await sessions.end(b"later", now + timedelta(days=8), now + timedelta(days=15))
    assert await sessions.all() == {b"long", b"later"}


async def test_a_page_of_users_is_searched_and_shows_strangers_nobody_who_waits(
    users: Users,
) -> None:
    bert = replace(ANNA, name="Bert", pending=False, blocked=True, groups=frozenset())
    for user in (ANNA, bert, replace(bert, name="carl", email="an@x.y", blocked=False)):
        await users.add(user)

    async def names(wanted: UserQuery) -> list[str]:
        return [user.name for user in await users.page(wanted)]

    assert await names(UserQuery(for_approver=True)) == ["anna", "Bert", "carl"]
    assert await names(UserQuery()) == ["Bert", "carl"]
    assert await names(UserQuery("an")) == []
    assert await names(UserQuery("AN", for_approver=True)) == ["anna", "Bert", "carl"]
    assert await names(UserQuery(kind=UserKind.BLOCKED, for_approver=True)) == ["Bert"]
    assert await names(UserQuery(kind=UserKind.PENDING, for_approver=True)) == ["anna"]
    assert await names(UserQuery(for_approver=True, first=1, count=1)) == ["Bert"]
