"""Engine records in PostgreSQL, and their twin in memory. Any process may write them; each change
is told to all.
"""

from dataclasses import replace

import asyncpg
import msgspec

from rookery.db.fence import Fence
from rookery.db.pool import Pool, Queries
from rookery.farm.engines import KeptEngine
from rookery.protocol.codec import encode
from rookery.protocol.engines import EngineRecord


class PostgresEngines:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def everything(self) -> tuple[KeptEngine, ...]:
        return tuple(map(_engine, await self._pool.fetch(self._queries["engines_all"])))

    async def save(self, engine: KeptEngine) -> None:
        text = encode(engine.record).decode()
        columns = (engine.record.name, text, engine.changed, engine.changed_by, engine.removed)
        async with self._fence.write() as connection:
            await connection.execute(self._queries["engines_save"], *columns)
            await connection.execute(self._queries["engine_versions_add"], *columns)
            await connection.execute(self._queries["engines_changed"], engine.record.name)

    async def versions(self, name: str) -> tuple[KeptEngine, ...]:
        rows = await self._pool.fetch(self._queries["engine_versions_of"], name)
        return tuple(replace(_engine(row), version=row["version"]) for row in rows)


def _engine(row: asyncpg.Record) -> KeptEngine:
    record = msgspec.json.decode(row["record"], type=EngineRecord)
    return KeptEngine(record, row["changed"], row["changed_by"], row["removed"])
