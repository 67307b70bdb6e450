"""Tokens in PostgreSQL. Any process may write them; each change is told to all."""

from collections.abc import Mapping
from datetime import datetime

import asyncpg

from rookery.service.tokens import Scope, Token, UnknownToken
from rookery.service.users import UnknownUser
from rookery.storage.fence import Fence
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries


class PostgresTokens:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def by_digest(self, digest: bytes) -> Token | None:
        row = await self._pool.fetchrow(self._queries["tokens_by_digest"], digest)
        return None if row is None else _token(row)

    async def add(self, token: Token) -> None:
        async with self._fence.write() as connection:
            added = await connection.fetchval(self._queries["tokens_add"], *_columns(token))
        if added is None:
            raise UnknownUser(token.user)

    async def of(self, user: str) -> tuple[Token, ...]:
        rows = await self._pool.fetch(self._queries["tokens_of"], user)
        return tuple(map(_token, rows))

    async def revoke(self, token_id: str, now: datetime) -> str:
        async with self._fence.write() as connection:
            owner: str | None = await connection.fetchval(
                self._queries["tokens_revoke"], token_id, now
            )
            await connection.execute(self._queries["tokens_changed"], token_id)
        if owner is None:
            raise UnknownToken(token_id)
        return owner

    async def note_uses(self, uses: Mapping[str, datetime]) -> None:
        query = self._queries["tokens_note_uses"]
        async with self._fence.write() as connection:
            await connection.execute(query, list(uses), list(uses.values()))


def _token(row: asyncpg.Record) -> Token:
    return Token(**{**row, "scopes": frozenset(map(Scope, row["scopes"]))})


def _columns(token: Token) -> tuple[object, ...]:
    return (
        token.id,
        token.digest,
        token.user,
        sorted(token.scopes),
        token.note,
        token.created,
        token.expires,
        token.revoked,
        token.used,
    )
