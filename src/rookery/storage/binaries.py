"""Uploaded programs in PostgreSQL, and their twin in memory. Any process may write them."""

from collections.abc import Collection

from rookery.service.sources.binaries import Binary
from rookery.storage.fence import Fence
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries
from rookery.storage.quotas import Upload, check_among


class PostgresBinaries:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def by_hash(self, sha256: str) -> Binary | None:
        row = await self._pool.fetchrow(self._queries["binaries_by_hash"], sha256)
        return None if row is None else Binary(**row)

    async def add(self, binary: Binary, *, limit: int | None = None) -> Binary:
        b, upload = binary, Upload(binary.user, binary.size, limit)
        columns = (b.sha256, b.blob, b.size, b.name, b.user, b.created)
        async with self._fence.write() as connection:
            await upload.begin(connection, self._queries)
            row = await connection.fetchrow(self._queries["binaries_add"], *columns)
            assert row is not None
            if row["blob"] == b.blob:
                await upload.check(connection, self._queries)
        return Binary(**row)

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        rows = await self._pool.fetch(self._queries["binaries_known"], list(keys))
        return frozenset(row["blob"] for row in rows)


class MemoryBinaries:
    def __init__(self) -> None:
        self._rows: dict[str, Binary] = {}

    async def by_hash(self, sha256: str) -> Binary | None:
        return self._rows.get(sha256)

    async def add(self, binary: Binary, *, limit: int | None = None) -> Binary:
        if binary.sha256 not in self._rows:
            check_among(self._rows.values(), binary, limit)
        return self._rows.setdefault(binary.sha256, binary)

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        return frozenset(row.blob for row in self._rows.values() if row.blob in keys)
