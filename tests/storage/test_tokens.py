"""Tokens: one contract, held by PostgreSQL and by its twin in memory alike."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from rookery.db.pool import Queries
from rookery.db.target import Target
from rookery.people.users import Scope, Token, Tokens, UnknownToken, UnknownUser, Users
from tests.database import pool_on
from tests.people import BORIS, OLGA
from tests.twins.people import MemoryTokens, MemoryUsers

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 1, 12, 0, 0, 123_456, tzinfo=UTC)
TOKEN = Token(
    id="0123456789ab",
    digest=b"\1" * 32,
    user="olga",
    scopes=frozenset({Scope.READ, Scope.SUBMIT}),
    note="nightly",
    created=NOW,
    expires=NOW + timedelta(days=30),
)


@dataclass
class Store:
    tokens: Tokens
    users: Users


@pytest.fixture(params=["memory", "postgres"])
async def store(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[Store]:
    if request.param == "memory":
        users = MemoryUsers(OLGA, BORIS)
        yield Store(MemoryTokens(users), users)
        return
    async with pool_on(database) as pool:
        stored = Users(pool, queries)
        await stored.add(OLGA)
        await stored.add(BORIS)
        yield Store(Tokens(pool, queries), stored)


async def test_an_added_token_comes_back_as_it_was(store: Store) -> None:
    await store.tokens.add(TOKEN)
    assert await store.tokens.by_digest(TOKEN.digest) == TOKEN
    assert await store.tokens.by_digest(b"\2" * 32) is None


async def test_a_token_needs_a_user(store: Store) -> None:
    with pytest.raises(UnknownUser, match="nobody"):
        await store.tokens.add(replace(TOKEN, user="nobody"))


async def test_tokens_are_listed_oldest_first(store: Store) -> None:
    older = replace(TOKEN, id="b", digest=b"b", created=NOW - timedelta(days=1))
    others = replace(TOKEN, id="c", digest=b"c", user="boris", created=NOW - timedelta(days=2))
    for token in (TOKEN, older, others):
        await store.tokens.add(token)
    assert await store.tokens.of("olga") == (older, TOKEN)
    assert await store.tokens.of("") == (others, older, TOKEN)


async def test_the_first_revocation_counts(store: Store) -> None:
    await store.tokens.add(TOKEN)
    await store.tokens.revoke(TOKEN.id, NOW)
    await store.tokens.revoke(TOKEN.id, NOW + timedelta(days=1))
    assert await store.tokens.of("olga") == (replace(TOKEN, revoked=NOW),)


async def test_an_unknown_token_cannot_be_revoked(store: Store) -> None:
    with pytest.raises(UnknownToken, match="ffff"):
        await store.tokens.revoke("ffff", NOW)


async def test_the_latest_use_is_kept(store: Store) -> None:
    await store.tokens.add(TOKEN)
    await store.tokens.note_uses({TOKEN.id: NOW, "gone": NOW})
    await store.tokens.note_uses({TOKEN.id: NOW - timedelta(hours=1)})
    assert await store.tokens.of("olga") == (replace(TOKEN, used=NOW),)


async def test_everybody_is_listed_by_name(store: Store) -> None:
    assert await store.users.list_all() == (BORIS, OLGA)


async def test_every_process_hears_of_a_revocation(database: Target, queries: Queries) -> None:
    heard: asyncio.Queue[object] = asyncio.Queue()
    listener = await asyncpg.connect(**database.connect_args)
    await listener.add_listener("tokens", lambda *said: heard.put_nowait(said[-1]))
    async with pool_on(database) as pool:
        await Users(pool, queries).add(OLGA)
        tokens = Tokens(pool, queries)
        await tokens.add(TOKEN)
        await tokens.revoke(TOKEN.id, NOW)
        assert await asyncio.wait_for(heard.get(), 60) == TOKEN.id
    await listener.close()
