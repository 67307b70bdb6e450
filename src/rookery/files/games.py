"""Games as workers upload them: gzip streams, several per task if need be."""

import struct
from array import array
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Protocol

import asyncpg
from anyio import CancelScope

from rookery.boundary.domains import Domain, runs
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.db.fence import Fence
from rookery.db.pool import Pool, Queries
from rookery.farm.views import FleetViews
from rookery.files.programs import received
from rookery.files.store import Blobs, remove, swept
from rookery.model.run import RunFault
from rookery.model.task import Task
from rookery.protocol.games import PACKED_PIECE, Ending, Game, Outcome, scanned
from rookery.rules.answers import HeldTask

AT_A_TIME = 200
MOST_UPLOADS = 50
"""Of one task, which is also how far its games are listed."""
LARGEST, LARGEST_GAME = 10_000_000, 20_000
"""Compressed bytes of all uploads of a task: in any case, and for each of its games."""


class TooManyGames(RunFault):
    """more games were uploaded than the task can have"""


@dataclass(frozen=True, slots=True)
class Pgn:
    """One upload; the games themselves lie in a blob."""

    run: str
    task: int
    blob: str
    size: int
    at: datetime


@dataclass(frozen=True, slots=True)
class IndexedGame:
    """A game with its task and its number there."""

    task: int
    number: int
    game: Game


class Pgns(Protocol):
    """The rows. Any process may write them."""

    async def add(self, pgn: Pgn, games: Sequence[Game]) -> None:
        """The upload, and what is known of its games."""
        ...

    async def games(self, run_id: str, task_id: int) -> tuple[Game, ...]:
        """What is known of a task's games, in the order of its uploads, whether they are kept or
        not."""
        ...

    async def run_games(self, run_id: str, first: int, count: int) -> tuple[IndexedGame, ...]:
        """The same of a whole run from a place on, task by task."""
        ...

    async def of_task(self, run_id: str, task_id: int) -> tuple[Pgn, ...]:
        """In the order they came in."""
        ...

    async def of_run(self, run_id: str) -> tuple[Pgn, ...]:
        """In the order of the tasks, and in each as they came in."""
        ...

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        """Those of the keys that a row names."""
        ...

    async def expired(self, now: datetime, limit: int) -> tuple[Pgn, ...]:
        """Uploads that have been kept for as long as the contract says."""
        ...

    async def forget(self, keys: Collection[str]) -> None:
        """The rows of these blobs are no longer needed."""
        ...


class PgnStore:
    """Takes games in, and lets them go when their time is up."""

    def __init__(
        self, fleet: FleetViews, rows: Pgns, blobs: Blobs, threads: Threads, clock: Clock
    ) -> None:
        self._fleet = fleet
        self._rows = rows
        self._blobs = blobs
        self._threads = threads
        self._clock = clock

    async def upload(self, call: HeldTask, data: bytes) -> None:
        """Games of a task of the caller's own, which has usually ended by now."""
        task = await self._allowed(call, len(data))
        games = await self._threads.cpu(scanned, data)
        key = await self._threads.io(self._blobs.write, data)
        await self._add(call, key, len(data), games[: task.games])

    @asynccontextmanager
    async def writing(self, pieces: AsyncIterator[bytes], text: "GamesText") -> AsyncIterator[str]:
        """The blob of games that come in pieces; it is gone after the block if that failed."""
        found, _ = await received(pieces, self._blobs, self._threads, _Unpacking(text))
        try:
            yield found.blob
        except BaseException:
            with CancelScope(shield=True):
                await self._threads.io(self._blobs.remove, found.blob)
            raise

    async def keep(self, call: HeldTask, blob: str, size: int) -> None:
        """Looks over games that are written down, and remembers whose they are."""
        task = await self._allowed(call, size)
        games = await self._threads.cpu(self._scanned, blob)
        await self._add(call, blob, size, games[: task.games])

    async def _allowed(self, call: HeldTask, size: int) -> Task:
        """The caller's own task, where it may have so much more; raises TooManyGames."""
        task = await self._fleet.own_task(call)
        before = await self._rows.of_task(call.run, call.task)
        size += sum(each.size for each in before)
        if len(before) >= MOST_UPLOADS or size > LARGEST + task.games * LARGEST_GAME:
            raise TooManyGames
        return task

    async def _add(self, call: HeldTask, blob: str, size: int, games: Sequence[Game]) -> None:
        await self._rows.add(Pgn(call.run, call.task, blob, size, self._clock.now()), games)

    @runs(Domain.THREAD, "files are listed and removed in threads, rows are awaited")
    async def clean_up(self) -> None:
        """Lets go what was kept long enough, and blobs that no row ever came to name."""
        while expired := await self._rows.expired(self._clock.now(), AT_A_TIME):
            keys = [pgn.blob for pgn in expired]
            await self._rows.forget(keys)
            await self._threads.io(remove, self._blobs, keys)
        await swept(self._blobs, self._rows, self._threads)

    def _scanned(self, blob: str) -> tuple[Game, ...]:
        with self._blobs.open(blob) as file:
            return scanned(iter(lambda: file.read(PACKED_PIECE), b""))


class GamesText(Protocol):
    """Something that tells the bytes which a text stands for."""

    def feed(self, piece: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class _Unpacking:
    """Writes down what the text stands for instead of the text."""

    text: GamesText

    def feed(self, data: bytes) -> bytes:
        return self.text.feed(data)

    def rest(self) -> bytes:
        return b""

    def finish(self) -> None: ...


# Games as their index has them: a packed entry per game in each of four columns.

OPENING_BYTES = 8
_WHITE = 4
_ENDING_SHIFT = 3


def packed(games: Sequence[Game]) -> tuple[int, bytes, bytes, bytes, bytes]:
    """The columns from `games` on."""
    count = len(games)
    return (
        count,
        bytes(_ending(game) for game in games),
        struct.pack(f"<{count}H", *(game.plies for game in games)),
        b"".join(game.opening for game in games),
        struct.pack(f"<{count}I", *(game.offset for game in games)),
    )


def unpacked(rows: Iterable[asyncpg.Record]) -> tuple[Game, ...]:
    return tuple(chain.from_iterable(map(_games, rows)))


def _ending(game: Game) -> int:
    return game.outcome | _WHITE * game.new_is_white | game.ending << _ENDING_SHIFT


def _games(row: asyncpg.Record) -> Iterator[Game]:
    count = row["games"]
    plies = struct.unpack(f"<{count}H", row["plies"])
    places = struct.unpack(f"<{count}I", row["places"])
    for number, code in enumerate(array("B", row["endings"])):
        yield Game(
            outcome=Outcome(code & 3),
            ending=Ending(code >> _ENDING_SHIFT),
            new_is_white=bool(code & _WHITE),
            plies=plies[number],
            opening=row["openings"][number * OPENING_BYTES : (number + 1) * OPENING_BYTES],
            offset=places[number],
        )


# Uploaded games in PostgreSQL, and their twin in memory. Any process may write them.


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
