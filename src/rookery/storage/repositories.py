"""Granted repositories in PostgreSQL, and their twin in memory. Any process may write them; each
change is told to all."""

from rookery.service.sources.repositories import GrantedRepository
from rookery.storage.fence import Fence
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries


class PostgresRepositories:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def everything(self) -> tuple[GrantedRepository, ...]:
        rows = await self._pool.fetch(self._queries["repositories_all"])
        return tuple(
            GrantedRepository(row["repository"], row["team"], row["granted_by"], row["granted"])
            for row in rows
        )

    async def add(self, granted: GrantedRepository) -> None:
        columns = (granted.repository, granted.team, granted.granted_by, granted.at)
        async with self._fence.write() as connection:
            await connection.execute(self._queries["repositories_add"], *columns)
            await connection.execute(self._queries["engines_changed"], granted.repository)

    async def remove(self, repository: str, team: str) -> bool:
        async with self._fence.write() as connection:
            query = self._queries["repositories_remove"]
            gone = await connection.fetchval(query, repository, team)
            await connection.execute(self._queries["engines_changed"], repository)
        return gone is not None


class MemoryRepositories:
    def __init__(self) -> None:
        self._granted: dict[tuple[str, str], GrantedRepository] = {}

    async def everything(self) -> tuple[GrantedRepository, ...]:
        return tuple(self._granted[key] for key in sorted(self._granted))

    async def add(self, granted: GrantedRepository) -> None:
        self._granted.setdefault((granted.repository, granted.team), granted)

    async def remove(self, repository: str, team: str) -> bool:
        return self._granted.pop((repository, team), None) is not None
