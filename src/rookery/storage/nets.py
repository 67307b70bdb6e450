"""Nets in PostgreSQL, and their twin in memory. Any process may write them."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from rookery.service.nets import Net, NetExists
from rookery.storage.fence import Fence
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries
from rookery.storage.quotas import Upload, check_among


class PostgresNets:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def by_name(self, name: str) -> Net | None:
        row = await self._pool.fetchrow(self._queries["nets_by_name"], name)
        return None if row is None else Net(**row)

    async def add(self, net: Net, *, limit: int | None = None) -> None:
        columns = (net.name, net.blob, net.size, net.user, net.created, net.downloads)
        upload = Upload(net.user, net.size, limit)
        async with self._fence.write() as connection:
            await upload.begin(connection, self._queries)
            if await connection.fetchval(self._queries["nets_add"], *columns) is None:
                raise NetExists(net.name)
            await upload.check(connection, self._queries)

    async def everything(self) -> tuple[Net, ...]:
        return tuple(Net(**row) for row in await self._pool.fetch(self._queries["nets_all"]))

    async def note_downloads(self, counts: Mapping[str, int]) -> None:
        query = self._queries["nets_note_downloads"]
        async with self._fence.write() as connection:
            await connection.execute(query, list(counts), list(counts.values()))

    async def remove(self, name: str) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["nets_remove"], name)

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        rows = await self._pool.fetch(self._queries["nets_known"], list(keys))
        return frozenset(row["blob"] for row in rows)


class MemoryNets:
    def __init__(self) -> None:
        self._nets: dict[str, Net] = {}

    async def by_name(self, name: str) -> Net | None:
        return self._nets.get(name)

    async def add(self, net: Net, *, limit: int | None = None) -> None:
        if net.name in self._nets:
            raise NetExists(net.name)
        check_among(self._nets.values(), net, limit)
        self._nets[net.name] = net

    async def everything(self) -> tuple[Net, ...]:
        return tuple(
            sorted(self._nets.values(), key=lambda net: (-net.created.timestamp(), net.name))
        )

    async def note_downloads(self, counts: Mapping[str, int]) -> None:
        for name in counts.keys() & self._nets.keys():
            net = self._nets[name]
            self._nets[name] = replace(net, downloads=net.downloads + counts[name])

    async def remove(self, name: str) -> None:
        self._nets.pop(name, None)

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        return frozenset(net.blob for net in self._nets.values() if net.blob in keys)
