"""Tokens: one contract, held by PostgreSQL and by its twin in memory alike."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.identity.users import Scope, Token, Tokens, UnknownToken, UnknownUser, Users
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


async def test_valid_tokens_are_picked_from_many(store: Store) -> None:
    for number, change in enumerate(({}, {"revoked": NOW}, {"expires": NOW}, {"expires": None})):
        token = replace(TOKEN, id=str(number), digest=bytes([number]), **change)  # type: ignore[arg-type]
        await store.tokens.add(token)
    digests = [bytes([number]) for number in range(5)]
    assert sorted(await store.tokens.valid_among(digests, NOW)) == [b"\0", b"\3"]


async def test_tokens_that_workers_used_lately_come_in_pages(store: Store) -> None:
    changes: dict[str, dict[str, object]] = {
        "a": {"used": NOW},
        "b": {"used": NOW, "scopes": frozenset({Scope.READ})},
        "c": {"used": NOW, "revoked": NOW},
        "d": {"used": NOW - timedelta(hours=2)},
        "e": {},
        "f": {"used": NOW, "expires": NOW},
        "g": {"used": NOW},
        "h": {"used": NOW},
    }
    machine = replace(TOKEN, scopes=frozenset({Scope.WORKER}))
    for name, change in changes.items():
        await store.tokens.add(replace(machine, id=name, digest=name.encode(), **change))  # type: ignore[arg-type]

    async def page(after: str) -> str:
        found = await store.tokens.used_by_workers(after, NOW - timedelta(hours=1), NOW, 2)
        return "".join(token.id for token in found)

    assert [await page(after) for after in ("", "g", "h")] == ["ag", "h", ""]


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
