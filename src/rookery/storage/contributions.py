"""What users' machines have played, from the rows of their tasks."""

from collections.abc import Mapping

from rookery.storage.pool import Pool
from rookery.storage.queries import Queries


class PostgresContributions:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries

    async def games(self, user: str) -> Mapping[str, int]:
        rows = await self._pool.fetch(self._queries["contributions_of_user"], user)
        return {row["run"]: row["games"] for row in rows}
