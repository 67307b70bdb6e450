"""The log of what was done to accounts, teams and engines, in PostgreSQL and in memory."""

from rookery.core.events import Event
from rookery.storage.fence import Fence
from rookery.storage.fleet.json import clean
from rookery.storage.fleet.memory.rows import MemoryRows
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries


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


class MemoryAudit:
    """Writes beside the fleet's events, where the log is read."""

    def __init__(self, rows: MemoryRows) -> None:
        self._rows = rows

    async def write(self, event: Event) -> None:
        self._rows.events.append(event)
