"""Users in PostgreSQL. Any process may write them; each change is told to all."""

from datetime import datetime

import asyncpg
import msgspec

from rookery.service.users import UnknownUser, User, UserExists
from rookery.storage.fence import Fence
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries


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
