"""What users' machines gave, in PostgreSQL, and a twin in memory for houses without one."""

from collections.abc import Sequence
from datetime import datetime

from rookery.db.fence import Fence
from rookery.db.pool import Pool, Queries, clean
from rookery.farm.statistics import (
    MOST_ENGINES,
    Contributor,
    Credit,
    Due,
    IdleSince,
    Period,
    Played,
    ToldSpeeds,
)
from rookery.model.events import SYSTEM, Action


class PostgresStatistics:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def due(self, limit: int) -> tuple[Due, ...]:
        rows = await self._pool.fetch(self._queries["credits_due"], limit)
        return tuple(Due(**row) for row in rows)

    async def played(self, run_id: str) -> tuple[Played, ...]:
        rows = await self._pool.fetch(self._queries["credits_played"], run_id)
        return tuple(Played(**row) for row in rows)

    async def credit(self, due: Due, credits_: Sequence[Credit]) -> None:
        values = [(due.run, c.user_name, c.games, c.core_hours, c.last) for c in credits_]
        async with self._fence.write() as connection:
            await connection.execute(self._queries["credits_drop"], due.run)
            await connection.executemany(self._queries["credits_add"], values)
            await connection.execute(self._queries["credits_done"], due.run, due.sequence)

    async def note_late(self, run: str, task: int, games: int, at: datetime) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["credits_late"], run, task, games, at)
            await connection.execute(self._queries["credits_again"], run)

    async def sum_up(self, since: datetime) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["statistics_clear"])
            await connection.execute(self._queries["statistics_sum_up"], since)

    async def drop_idle(self, idle: IdleSince, most: int) -> tuple[str, ...]:
        columns = (idle.after, idle.before, idle.now, idle.message, most)
        line = (Action.REMOVE_USER.value, SYSTEM, Action.NEW_USER.value)
        async with self._fence.write() as connection:
            rows = await connection.fetch(self._queries["accounts_drop_idle"], *columns, *line)
            gone = tuple(row["name"] for row in rows)
            for name in gone:
                await connection.execute(self._queries["users_changed"], name)
        return gone

    async def page(self, period: Period, first: int, count: int) -> tuple[Contributor, ...]:
        rows = await self._pool.fetch(self._queries["statistics_page"], period.value, count, first)
        return tuple(Contributor(**row) for row in rows)

    async def core_hours(self, user: str) -> float:
        hours = await self._pool.fetchval(self._queries["statistics_hours"], user)
        return float(hours or 0)


# How fast machines play engines, in PostgreSQL and in memory.


class PostgresSpeeds:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def everything(self) -> tuple[ToldSpeeds, ...]:
        rows = await self._pool.fetch(self._queries["speeds_all"])
        return tuple(
            ToldSpeeds(row["engine"], tuple(zip(row["machines"], row["nps"], strict=True)))
            for row in rows
        )

    async def save(self, told: ToldSpeeds, now: datetime) -> None:
        machines = [clean(machine) for machine, _ in told.machines]
        speeds = [nps for _, nps in told.machines]
        async with self._fence.write() as connection:
            query = self._queries["speeds_save"]
            await connection.execute(query, told.engine, machines, speeds, now)
            await connection.execute(self._queries["speeds_drop"], MOST_ENGINES)
