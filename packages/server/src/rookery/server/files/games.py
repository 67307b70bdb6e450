"""Stores the games that workers upload, as gzip streams of PGN; a task may have several uploads."""

import struct
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, BinaryIO, Protocol

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.model.run import RunFault
from rookery.core.model.task import Task
from rookery.core.protocol.games import (
    PACKED_PIECE,
    Ending,
    Game,
    Outcome,
    read_first_games,
    read_game,
    scan_games,
)
from rookery.server.db.table import columns
from rookery.server.files.blobs import Blobs, Draft, write_blob
from rookery.server.files.store import ROWS_AT_A_TIME, FileRows, FileStore, open_draft, write_pieces

MOST_UPLOADS = 50
"""The most uploads of a task, and the most whose games are listed."""
LONG_GAMES_SECONDS = 20
"""The base time from which games count as long."""
GAMES_LOOKED_AT = 40
"""The number of games of an upload that are read to measure search speed."""
LARGEST, LARGEST_GAME = 10_000_000, 20_000
"""The most compressed bytes of all uploads of a task: a fixed part, and a part for each game."""


@dataclass(frozen=True, slots=True)
class GameSpans:
    """How many days games are stored; None stands for ever. Counted from the end of their run, or
    from their upload while it continues."""

    short: int | None = 1
    long: int | None = 10
    """Of runs with a base time from `LONG_GAMES_SECONDS` on, and of deleted runs."""
    at_play: int | None = 50


USUAL_SPANS = GameSpans()


def read_spans(short: int, long: int, at_play: int) -> GameSpans:
    """Return the spans of the settings, in which 0 stands for ever."""
    return GameSpans(short or None, long or None, at_play or None)


@dataclass(frozen=True, slots=True)
class GameUpload:
    """The row of an upload; the games themselves are in its blob."""

    run: str
    task: int
    blob: str
    size: int
    at: datetime


@dataclass(frozen=True, slots=True)
class IndexedGame:
    """A game with its task and its number in the task."""

    task: int
    number: int
    game: Game
    blob: str = ""
    """The blob with its text, if that was looked up and exists."""


@dataclass(frozen=True, slots=True)
class StoredGame:
    """A game of the index, and the blob with its text; empty if that was removed."""

    game: Game
    blob: str


@dataclass(frozen=True, slots=True)
class GameSum:
    """The number of games of a run that ended in one way, and the sum of their half moves."""

    outcome: Outcome
    ending: Ending
    new_is_white: bool
    games: int
    plies: int


def game_sum_of(outcome: int, ending: int, new_is_white: bool, games: int, plies: int) -> GameSum:
    return GameSum(Outcome(outcome), Ending(ending), new_is_white, games, plies)


def add_up_games(games: Iterable[Game]) -> tuple[GameSum, ...]:
    """Sum the games by the way they ended."""
    counts: Counter[tuple[Outcome, Ending, bool]] = Counter()
    plies: Counter[tuple[Outcome, Ending, bool]] = Counter()
    for game in games:
        key = game.outcome, game.ending, game.new_is_white
        counts[key] += 1
        plies[key] += game.plies
    return tuple(GameSum(*key, number, plies[key]) for key, number in counts.most_common())


def transpose_sums(sums: Sequence[GameSum]) -> tuple[list[int], ...]:
    """Return the sums as a list per column, as `unnest` needs them."""
    return (
        [int(each.outcome) for each in sums],
        [int(each.ending) for each in sums],
        [each.new_is_white for each in sums],
        [each.games for each in sums],
        [each.plies for each in sums],
    )


class GameRows(FileRows[GameUpload]):
    """The rows of uploads, and the index of their games, which stays when an upload is removed."""

    name = "pgns"
    kind = GameUpload

    async def add(self, upload: GameUpload, games: Sequence[Game]) -> None:
        index = (upload.blob, upload.run, upload.task, upload.at, *pack_games(games))
        async with self._writing() as write:
            await write("pgns_add", *columns(upload))
            if games:
                await write("pgns_index", *index)
                await write("pgns_sum", upload.run, *transpose_sums(add_up_games(games)))

    async def list_sums(self, run_id: str) -> tuple[GameSum, ...]:
        """How the games of a run ended, most frequent first; includes games whose texts were
        removed."""
        return await self._many(game_sum_of, "pgns_sums", run_id)

    async def list_latest(self, run_id: str, uploads: int) -> tuple[IndexedGame, ...]:
        """Return the indexed games of a run's latest uploads."""

        def number_games(
            task: int, number: int, blob: str | None, **columns: Any
        ) -> list[IndexedGame]:
            games = enumerate(unpack_games(**columns), number)
            return [IndexedGame(task, place, game, blob or "") for place, game in games]

        found = await self._many(number_games, "pgns_latest_indexed", run_id, uploads)
        return tuple(chain.from_iterable(found))

    async def find_game(self, run_id: str, task_id: int, number: int) -> StoredGame | None:
        """Return a game of a task by its number; without a blob if the game's text was removed."""

        def unpack_upload(blob: str | None, **columns: Any) -> tuple[str, tuple[Game, ...]]:
            return blob or "", unpack_games(**columns)

        place = number
        uploads = await self._many(
            unpack_upload, "pgns_indexed_of_task", run_id, task_id, MOST_UPLOADS
        )
        for blob, games in uploads:
            if place < len(games):
                return StoredGame(games[place], blob)
            place -= len(games)
        return None

    async def find_latest(self, run_id: str, count: int = 1) -> tuple[GameUpload, ...]:
        """Return the latest uploads of a run that are still stored."""
        return await self._many(GameUpload, "pgns_latest", run_id, count)

    async def list_games(self, run_id: str, task_id: int) -> tuple[Game, ...]:
        """Return the indexed games of a task in the order of its uploads, including removed
        ones."""
        found = await self._many(unpack_games, "pgns_indexed", run_id, task_id, MOST_UPLOADS)
        return tuple(chain.from_iterable(found))

    async def list_run_games(self, run_id: str, first: int, count: int) -> tuple[IndexedGame, ...]:
        """`count` indexed games of a run, task by task, from the game number `first` on."""

        def select_games(task: int, place: int, number: int, **columns: Any) -> list[IndexedGame]:
            games = enumerate(unpack_games(**columns), number)
            part = slice(max(0, first - place), first + count - place)
            return [IndexedGame(task, number, game) for number, game in games][part]

        found = await self._many(select_games, "pgns_indexed_of_run", run_id, first, count)
        return tuple(chain.from_iterable(found))

    async def of_task(self, run_id: str, task_id: int) -> tuple[GameUpload, ...]:
        """Return the uploads of a task in the order of their arrival."""
        return await self._many(GameUpload, "pgns_of_task", run_id, task_id)

    async def find_present(self, tasks: Collection[tuple[str, int]]) -> frozenset[tuple[str, int]]:
        """Those of the tasks, each by its run and number, whose games are still stored."""
        wanted = sorted(set(tasks))
        if not wanted:
            return frozenset()
        runs, numbers = [run for run, _ in wanted], [number for _, number in wanted]
        found = await self._many(lambda run, task: (run, task), "pgns_present", runs, numbers)
        return frozenset(found)

    async def of_run(self, run_id: str) -> tuple[GameUpload, ...]:
        """Return the uploads of a run, task by task, in the order of their arrival."""
        return await self._many(GameUpload, "pgns_of_run", run_id)

    async def find_tasks(self, run_id: str, tasks: Collection[int]) -> frozenset[int]:
        """Those of these tasks whose games are still stored."""
        return frozenset(await self._column("pgns_of_tasks", run_id, list(tasks)))

    async def find_expired(
        self, now: datetime, limit: int, spans: GameSpans
    ) -> tuple[GameUpload, ...]:
        """Return a batch of uploads that were stored for long enough."""
        days = spans.short, spans.long, spans.at_play
        return await self._many(GameUpload, "pgns_expired", now, limit, *days, LONG_GAMES_SECONDS)


class GamesDecoder(Protocol):
    """Decodes games that are sent as text, such as base64."""

    def feed(self, piece: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class DecodingReader:
    """Stores the decoded bytes of an upload that is sent as text."""

    text: GamesDecoder

    def feed(self, data: bytes) -> bytes:
        return self.text.feed(data)

    def finish(self) -> bytes:
        return b""


class GameStore(FileStore[GameRows]):
    """Stores uploaded games, and removes them after their time."""

    def __init__(
        self,
        rows: GameRows,
        blobs: Blobs,
        threads: Threads,
        clock: Clock,
        spans: GameSpans = USUAL_SPANS,
    ) -> None:
        super().__init__(rows, blobs, threads, clock)
        self.spans = spans

    async def upload(self, task: Task, data: bytes) -> None:
        """Store games of a task, which usually has ended by then; raise RunFault if the run has too
        many."""
        await self._check(task, len(data))
        games = await self._threads.cpu_always(scan_games, data)
        blob = await self._threads.files(write_blob, self.blobs, data)
        await self._add(task, blob, len(data), games)

    @asynccontextmanager
    async def receive(
        self, pieces: AsyncIterator[bytes], text: GamesDecoder
    ) -> AsyncIterator[Draft]:
        """Write games that arrive in pieces into a draft, which is dropped unless it is kept."""
        async with open_draft(self.blobs, self._threads) as draft:
            await write_pieces(pieces, draft, self._threads, DecodingReader(text))
            yield draft

    async def keep_received(self, task: Task, draft: Draft, size: int) -> None:
        """Index the games of a draft, keep it and add its row; raise RunFault if the run has too
        many."""
        await self._check(task, size)
        games = await self._threads.cpu_always(_scan, draft)
        blob = await self._threads.files(draft.keep)
        await self._add(task, blob, size, games)

    async def _check(self, task: Task, size: int) -> None:
        before = await self.rows.of_task(task.run, task.id)
        size += sum(each.size for each in before)
        if len(before) >= MOST_UPLOADS or size > LARGEST + task.games * LARGEST_GAME:
            raise RunFault("more games were uploaded than the task can have")

    async def _add(self, task: Task, blob: str, size: int, games: Sequence[Game]) -> None:
        upload = GameUpload(task.run, task.id, blob, size, self._clock.now())
        await self.rows.add(upload, games[: task.games])

    async def _find_expired(self) -> tuple[GameUpload, ...]:
        return await self.rows.find_expired(self._clock.now(), ROWS_AT_A_TIME, self.spans)

    async def read_text(self, found: StoredGame) -> str:
        """Return the text of one game; raise UnknownBlob where it is gone."""
        file = await self._threads.files(self.blobs.fetch, found.blob)
        return await self._threads.cpu(_read_text, file, found.game.offset)

    async def read_beginning(self, blob: str) -> tuple[str, ...]:
        """Return the first games of an upload, as texts."""
        file = await self._threads.files(self.blobs.fetch, blob)
        return await self._threads.cpu(_read_beginning, file)


# Computations only read local files, so that waiting for storage does not occupy a thread of `cpu`.


def _read_text(file: BinaryIO, offset: int) -> str:
    with file:
        return read_game(_read_pieces(file), offset)


def _read_beginning(file: BinaryIO) -> tuple[str, ...]:
    with file:
        return read_first_games(_read_pieces(file), GAMES_LOOKED_AT)


def _scan(draft: Draft) -> tuple[Game, ...]:
    with draft.open() as file:
        return scan_games(_read_pieces(file))


def _read_pieces(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.read(PACKED_PIECE), b"")


# The index of games: one row per upload, with a packed entry per game in each of four columns.

OPENING_BYTES = 8
_WHITE = 4
_ENDING_SHIFT = 3


def pack_games(games: Sequence[Game]) -> tuple[int, bytes, bytes, bytes, bytes]:
    """Return the values of the index columns, from `games` on."""
    count = len(games)
    return (
        count,
        bytes(_ending_code(game) for game in games),
        struct.pack(f"<{count}H", *(game.plies for game in games)),
        b"".join(game.opening for game in games),
        struct.pack(f"<{count}I", *(game.offset for game in games)),
    )


def _ending_code(game: Game) -> int:
    return game.outcome | _WHITE * game.new_is_white | game.ending << _ENDING_SHIFT


def unpack_games(
    games: int, endings: bytes, plies: bytes, openings: bytes, places: bytes
) -> tuple[Game, ...]:
    """Return the games of a row of the index."""
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
