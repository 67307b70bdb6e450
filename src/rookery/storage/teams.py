"""Teams in PostgreSQL, and their twin in memory. Any process may write them; each change is told
to all."""

import asyncpg

from rookery.service.teams import Team, TeamExists
from rookery.storage.fence import Fence
from rookery.storage.pool import Connection, Pool
from rookery.storage.queries import Queries


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


class MemoryTeams:
    def __init__(self, *teams: Team) -> None:
        self._teams = {team.name: team for team in teams}

    async def everything(self) -> tuple[Team, ...]:
        return tuple(self._teams[name] for name in sorted(self._teams))

    async def add(self, team: Team) -> None:
        if team.name in self._teams:
            raise TeamExists(name=team.name)
        self._teams[team.name] = team

    async def save(self, team: Team) -> None:
        self._teams[team.name] = team


def _team(row: asyncpg.Record) -> Team:
    return Team(row["name"], frozenset(row["members"]), frozenset(row["leads"]), row["created"])
