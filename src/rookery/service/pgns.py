"""Games as workers upload them: gzip streams, several per task if need be."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from anyio import CancelScope

from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.core.answers import TaskCall
from rookery.core.faults import RunFault
from rookery.core.task import Task
from rookery.protocol.games import PACKED_PIECE, Game, scanned
from rookery.service.blobs import Blobs
from rookery.service.fleet.views import Views
from rookery.service.orphans import remove, swept
from rookery.service.sources.uploads import received

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
        self, fleet: Views, rows: Pgns, blobs: Blobs, threads: Threads, clock: Clock
    ) -> None:
        self._fleet = fleet
        self._rows = rows
        self._blobs = blobs
        self._threads = threads
        self._clock = clock

    async def upload(self, call: TaskCall, data: bytes) -> None:
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

    async def keep(self, call: TaskCall, blob: str, size: int) -> None:
        """Looks over games that are written down, and remembers whose they are."""
        task = await self._allowed(call, size)
        games = await self._threads.cpu(self._scanned, blob)
        await self._add(call, blob, size, games[: task.games])

    async def _allowed(self, call: TaskCall, size: int) -> Task:
        """The caller's own task, where it may have so much more; raises TooManyGames."""
        task = await self._fleet.own_task(call)
        before = await self._rows.of_task(call.run, call.task)
        size += sum(each.size for each in before)
        if len(before) >= MOST_UPLOADS or size > LARGEST + task.games * LARGEST_GAME:
            raise TooManyGames
        return task

    async def _add(self, call: TaskCall, blob: str, size: int, games: Sequence[Game]) -> None:
        await self._rows.add(Pgn(call.run, call.task, blob, size, self._clock.now()), games)

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
