"""Which engine a file was given for, in PostgreSQL and in memory; each change is told to all."""

from collections.abc import Mapping

from rookery.service.holdings import GivenAgain
from rookery.storage.fence import Fence
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries
from rookery.storage.quotas import Upload, check_among


class PostgresHoldings:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def everything(self) -> Mapping[str, str]:
        rows = await self._pool.fetch(self._queries["holdings_all"])
        return {row["file"]: row["engine"] for row in rows}

    async def add(self, file: str, engine: str) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["holdings_add"], file, engine)
            await connection.execute(self._queries["engines_changed"], engine)

    async def remove(self, file: str) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["holdings_remove"], file)
            await connection.execute(self._queries["given_again_forget"], file)
            await connection.execute(self._queries["engines_changed"], "")

    async def given_again(self) -> tuple[GivenAgain, ...]:
        rows = await self._pool.fetch(self._queries["given_again_all"])
        return tuple(GivenAgain(**row) for row in rows)

    async def give_again(self, given: GivenAgain, *, limit: int | None = None) -> None:
        columns = (given.file, given.engine, given.user, given.at, given.size)
        upload = Upload(given.user, given.size, limit)
        async with self._fence.write() as connection:
            await upload.begin(connection, self._queries)
            new = await connection.fetchval(self._queries["given_again_add"], *columns)
            if new is not None:
                await upload.check(connection, self._queries)
                await connection.execute(self._queries["engines_changed"], given.engine)

    async def take_back(self, given: GivenAgain) -> None:
        columns = (given.file, given.engine, given.user)
        async with self._fence.write() as connection:
            await connection.execute(self._queries["given_again_remove"], *columns)
            await connection.execute(self._queries["engines_changed"], given.engine)


class MemoryHoldings:
    def __init__(self, engines: dict[str, str] | None = None) -> None:
        """With the log's own copy, where lines about hidden files are to be left out of it."""
        self._engines = {} if engines is None else engines
        self._again: dict[tuple[str, str, str], GivenAgain] = {}

    async def everything(self) -> Mapping[str, str]:
        return dict(self._engines)

    async def add(self, file: str, engine: str) -> None:
        self._engines.setdefault(file, engine)

    async def remove(self, file: str) -> None:
        self._engines.pop(file, None)
        self._again = {key: each for key, each in self._again.items() if each.file != file}

    async def given_again(self) -> tuple[GivenAgain, ...]:
        return tuple(sorted(self._again.values(), key=lambda each: (each.at, each.user)))

    async def give_again(self, given: GivenAgain, *, limit: int | None = None) -> None:
        key = given.file, given.engine, given.user
        if key not in self._again:
            check_among(self._again.values(), given, limit)
            self._again[key] = given

    async def take_back(self, given: GivenAgain) -> None:
        self._again.pop((given.file, given.engine, given.user), None)
