"""Games as workers upload them: gzip streams, several per task if need be."""

import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, Protocol

from anyio import CancelScope

from rookery.db.table import columns
from rookery.files.blobs import write_blob
from rookery.files.store import ROWS_AT_A_TIME, FileRows, FileStore, receive
from rookery.model.run import RunFault
from rookery.model.task import Task
from rookery.protocol.games import PACKED_PIECE, Ending, Game, Outcome, scanned

MOST_UPLOADS = 50
"""Of one task, which is also how far its games are listed."""
LARGEST, LARGEST_GAME = 10_000_000, 20_000
"""Compressed bytes of all uploads of a task: in any case, and for each of its games."""


class TooManyGames(RunFault):
    """more games were uploaded than the task can have"""


@dataclass(frozen=True, slots=True)
class GameUpload:
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


class GameRows(FileRows[GameUpload]):
    """Uploads, and what is known of their games, which outlives them."""

    name = "pgns"
    kind = GameUpload

    async def add(self, upload: GameUpload, games: Sequence[Game]) -> None:
        index = (upload.blob, upload.run, upload.task, upload.at, *packed(games))
        async with self._writing() as write:
            await write("pgns_add", *columns(upload))
            if games:
                await write("pgns_index", *index)

    async def games(self, run_id: str, task_id: int) -> tuple[Game, ...]:
        """What is known of a task's games, in the order of its uploads, whether they are kept or
        not."""
        found = await self._many(unpacked, "pgns_indexed", run_id, task_id, MOST_UPLOADS)
        return tuple(chain.from_iterable(found))

    async def run_games(self, run_id: str, first: int, count: int) -> tuple[IndexedGame, ...]:
        """The same of a whole run from a place on, task by task."""

        def wanted(task: int, place: int, number: int, **columns: Any) -> list[IndexedGame]:
            games = enumerate(unpacked(**columns), number)
            part = slice(max(0, first - place), first + count - place)
            return [IndexedGame(task, number, game) for number, game in games][part]

        found = await self._many(wanted, "pgns_indexed_of_run", run_id, first, count)
        return tuple(chain.from_iterable(found))

    async def of_task(self, run_id: str, task_id: int) -> tuple[GameUpload, ...]:
        """In the order they came in."""
        return await self._many(GameUpload, "pgns_of_task", run_id, task_id)

    async def of_run(self, run_id: str) -> tuple[GameUpload, ...]:
        """In the order of the tasks, and in each as they came in."""
        return await self._many(GameUpload, "pgns_of_run", run_id)

    async def expired(self, now: datetime, limit: int) -> tuple[GameUpload, ...]:
        """Uploads that have been kept for as long as the contract says."""
        return await self._many(GameUpload, "pgns_expired", now, limit)


class GamesText(Protocol):
    """Something that tells the bytes which a text stands for."""

    def feed(self, piece: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class TextReader:
    """Keeps what a text stands for instead of the text."""

    text: GamesText

    def feed(self, data: bytes) -> bytes:
        return self.text.feed(data)

    def finish(self) -> bytes:
        return b""


class GameStore(FileStore[GameRows]):
    """Takes games in, and lets them go when their time is up."""

    async def upload(self, task: Task, data: bytes) -> None:
        """Keeps games of a task, which has usually ended by now; raises TooManyGames."""
        await self._check(task, len(data))
        games = await self._threads.cpu(scanned, data)
        blob = await self._threads.io(write_blob, self.blobs, data)
        await self._add(task, blob, len(data), games)

    @asynccontextmanager
    async def writing(self, pieces: AsyncIterator[bytes], text: GamesText) -> AsyncIterator[str]:
        """The blob of games that come in pieces; it is gone after the block if that failed."""
        found = await receive(pieces, self.blobs, self._threads, TextReader(text))
        try:
            yield found.blob
        except BaseException:
            with CancelScope(shield=True):
                await self.discard(found.blob)
            raise

    async def keep(self, task: Task, blob: str, size: int) -> None:
        """Looks over games that are written down, and remembers whose they are; raises
        TooManyGames."""
        await self._check(task, size)
        games = await self._threads.cpu(self._scanned, blob)
        await self._add(task, blob, size, games)

    async def _check(self, task: Task, size: int) -> None:
        before = await self.rows.of_task(task.run, task.id)
        size += sum(each.size for each in before)
        if len(before) >= MOST_UPLOADS or size > LARGEST + task.games * LARGEST_GAME:
            raise TooManyGames

    async def _add(self, task: Task, blob: str, size: int, games: Sequence[Game]) -> None:
        upload = GameUpload(task.run, task.id, blob, size, self._clock.now())
        await self.rows.add(upload, games[: task.games])

    async def _expired(self) -> tuple[GameUpload, ...]:
        return await self.rows.expired(self._clock.now(), ROWS_AT_A_TIME)

    def _scanned(self, blob: str) -> tuple[Game, ...]:
        with self.blobs.open(blob) as file:
            return scanned(iter(lambda: file.read(PACKED_PIECE), b""))


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


def _ending(game: Game) -> int:
    return game.outcome | _WHITE * game.new_is_white | game.ending << _ENDING_SHIFT


def unpacked(
    games: int, endings: bytes, plies: bytes, openings: bytes, places: bytes
) -> tuple[Game, ...]:
    """The games of these columns."""
    all_plies = struct.unpack(f"<{games}H", plies)
    offsets = struct.unpack(f"<{games}I", places)
    return tuple(
        Game(
            outcome=Outcome(code & 3),
            ending=Ending(code >> _ENDING_SHIFT),
            new_is_white=bool(code & _WHITE),
            plies=all_plies[number],
            opening=openings[number * OPENING_BYTES : (number + 1) * OPENING_BYTES],
            offset=offsets[number],
        )
        for number, code in enumerate(endings)
    )
