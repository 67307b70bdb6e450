"""Uploaded games in PostgreSQL, and their twin in memory. Any process may write them."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

import asyncpg

from rookery.protocol.games import Game
from rookery.service.pgns import MOST_UPLOADS, IndexedGame, Pgn
from rookery.storage.fence import Fence
from rookery.storage.game_index import packed, unpacked
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries


class PostgresPgns:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def add(self, pgn: Pgn, games: Sequence[Game]) -> None:
        index = (pgn.blob, pgn.run, pgn.task, pgn.at, *packed(games))
        async with self._fence.write() as connection:
            await connection.execute(
                self._queries["pgns_add"], pgn.run, pgn.task, pgn.blob, pgn.size, pgn.at
            )
            if games:
                await connection.execute(self._queries["pgns_index"], *index)

    async def games(self, run_id: str, task_id: int) -> tuple[Game, ...]:
        query = self._queries["pgns_indexed"]
        return unpacked(await self._pool.fetch(query, run_id, task_id, MOST_UPLOADS))

    async def run_games(self, run_id: str, first: int, count: int) -> tuple[IndexedGame, ...]:
        query, found = self._queries["pgns_indexed_of_run"], list[IndexedGame]()
        for row in await self._pool.fetch(query, run_id, first, count):
            part = slice(max(0, first - row["place"]), first + count - row["place"])
            games = enumerate(unpacked([row]), row["number"])
            found += [IndexedGame(row["task"], number, game) for number, game in games][part]
        return tuple(found)

    async def of_task(self, run_id: str, task_id: int) -> tuple[Pgn, ...]:
        return _pgns(await self._pool.fetch(self._queries["pgns_of_task"], run_id, task_id))

    async def of_run(self, run_id: str) -> tuple[Pgn, ...]:
        return _pgns(await self._pool.fetch(self._queries["pgns_of_run"], run_id))

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        rows = await self._pool.fetch(self._queries["pgns_known"], list(keys))
        return frozenset(row["blob"] for row in rows)

    async def expired(self, now: datetime, limit: int) -> tuple[Pgn, ...]:
        return _pgns(await self._pool.fetch(self._queries["pgns_expired"], now, limit))

    async def forget(self, keys: Collection[str]) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["pgns_forget"], list(keys))


def _pgns(rows: Iterable[asyncpg.Record]) -> tuple[Pgn, ...]:
    return tuple(Pgn(**row) for row in rows)


class MemoryPgns:
    """Keeps everything for ever: how long a run's games are kept, its row says."""

    def __init__(self) -> None:
        self.rows: list[Pgn] = []
        self._games: dict[tuple[str, int], list[Game]] = {}

    async def add(self, pgn: Pgn, games: Sequence[Game]) -> None:
        self.rows.append(pgn)
        self._games.setdefault((pgn.run, pgn.task), []).extend(games)

    async def games(self, run_id: str, task_id: int) -> tuple[Game, ...]:
        return tuple(self._games.get((run_id, task_id), ()))

    async def run_games(self, run_id: str, first: int, count: int) -> tuple[IndexedGame, ...]:
        tasks = sorted(task for run, task in self._games if run == run_id)
        found = [
            IndexedGame(task, number, game)
            for task in tasks
            for number, game in enumerate(self._games[run_id, task])
        ]
        return tuple(found[first : first + count])

    async def of_task(self, run_id: str, task_id: int) -> tuple[Pgn, ...]:
        return tuple(pgn for pgn in self.rows if (pgn.run, pgn.task) == (run_id, task_id))

    async def of_run(self, run_id: str) -> tuple[Pgn, ...]:
        found = [pgn for pgn in self.rows if pgn.run == run_id]
        return tuple(sorted(found, key=lambda pgn: pgn.task))

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        return frozenset(pgn.blob for pgn in self.rows if pgn.blob in keys)

    async def expired(self, now: datetime, limit: int) -> tuple[Pgn, ...]:
        del now, limit
        return ()

    async def forget(self, keys: Collection[str]) -> None:
        self.rows = [pgn for pgn in self.rows if pgn.blob not in keys]
