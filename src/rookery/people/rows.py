"""Users in PostgreSQL. Any process may write them; each change is told to all."""

from collections.abc import Mapping
from datetime import datetime

import asyncpg
import msgspec

from rookery.db.fence import Fence
from rookery.db.pool import Connection, Pool, Queries, clean
from rookery.model.events import Event
from rookery.people.teams import Team, TeamExists
from rookery.people.users import Scope, Token, UnknownToken, UnknownUser, User, UserExists


class PostgresUsers:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def by_name(self, name: str) -> User | None:
        row = await self._pool.fetchrow(self._queries["users_by_name"], name)
        return None if row is None else _user(row)

    async def add(self, user: User) -> None:
        if not await self._store("users_add", user):
            raise UserExists(user.name)

    async def save(self, user: User) -> None:
        if not await self._store("users_save", user):
            raise UnknownUser(user.name)

    async def remove(self, name: str) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["users_remove"], name)
            # Teams are remembered with their members.
            await connection.execute(self._queries["engines_changed"], "")
            await connection.execute(self._queries["users_changed"], name)

    async def count(self) -> int:
        number: int = await self._pool.fetchval(self._queries["users_count"])
        return number

    async def everyone(self) -> tuple[User, ...]:
        return tuple(map(_user, await self._pool.fetch(self._queries["users_all"])))

    async def _store(self, query: str, user: User) -> bool:
        async with self._fence.write() as connection:
            found = await connection.fetchval(self._queries[query], *_columns(user))
            if found is not None:
                await connection.execute(self._queries["users_changed"], user.name)
        return found is not None


class PostgresEndedSessions:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def end(self, digest: bytes, now: datetime, until: datetime) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["sessions_forget"], now)
            await connection.execute(self._queries["sessions_end"], digest, until)
            await connection.execute(self._queries["sessions_changed"], digest.hex())

    async def all(self) -> frozenset[bytes]:
        rows = await self._pool.fetch(self._queries["sessions_ended"])
        return frozenset(row["digest"] for row in rows)


def _user(row: asyncpg.Record) -> User:
    repositories = msgspec.json.decode(row["repositories"], type=dict[str, str])
    return User(**{**row, "groups": frozenset(row["groups"]), "repositories": repositories})


def _columns(user: User) -> tuple[object, ...]:
    return (
        user.name,
        user.email,
        user.password_hash,
        sorted(user.groups),
        user.blocked,
        user.pending,
        user.machine_limit,
        user.created,
        user.upload_mb,
        msgspec.json.encode(dict(user.repositories)).decode(),
    )


# Tokens in PostgreSQL. Any process may write them; each change is told to all.


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
            added = await connection.fetchval(self._queries["tokens_add"], *_tokens_columns(token))
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


def _tokens_columns(token: Token) -> tuple[object, ...]:
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


# Teams in PostgreSQL, and their twin in memory. Any process may write them; each change is told to
# all.


class PostgresTeams:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def everything(self) -> tuple[Team, ...]:
        return tuple(map(_team, await self._pool.fetch(self._queries["teams_all"])))

    async def add(self, team: Team) -> None:
        async with self._fence.write() as connection:
            query = self._queries["teams_add"]
            if await connection.fetchval(query, team.name, team.created) is None:
                raise TeamExists(name=team.name)
            await self._put_members(connection, team)

    async def save(self, team: Team) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["team_members_clear"], team.name)
            await self._put_members(connection, team)

    async def _put_members(self, connection: Connection, team: Team) -> None:
        members = sorted(team.members)
        leads = [member in team.leads for member in members]
        await connection.execute(self._queries["team_members_put"], team.name, members, leads)
        await connection.execute(self._queries["engines_changed"], team.name)


def _team(row: asyncpg.Record) -> Team:
    return Team(row["name"], frozenset(row["members"]), frozenset(row["leads"]), row["created"])


# The log of what was done to accounts, teams and engines, in PostgreSQL and in memory.


class PostgresAudit:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def write(self, event: Event) -> None:
        async with self._fence.write() as connection:
            await connection.execute(
                self._queries["actions_note"],
                event.at,
                event.action.value,
                clean(event.actor),
                clean(event.message),
                clean(event.nn) or None,
                clean(event.subject) or None,
                clean(event.engine) or None,
                clean(event.team) or None,
            )
