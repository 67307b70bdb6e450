"""How fast machines play engines, in PostgreSQL and in memory."""

from datetime import datetime

from rookery.service.speeds import MOST_ENGINES, ToldSpeeds
from rookery.storage.fence import Fence
from rookery.storage.fleet.json import clean
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries


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


class MemorySpeeds:
    def __init__(self) -> None:
        self._told: dict[str, ToldSpeeds] = {}

    async def everything(self) -> tuple[ToldSpeeds, ...]:
        return tuple(self._told.values())

    async def save(self, told: ToldSpeeds, now: datetime) -> None:
        del now
        self._told.pop(told.engine, None)
        self._told[told.engine] = told
