"""In-memory twins of files and their rows."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from io import BytesIO
from typing import BinaryIO, TypeVar

from rookery.core.protocol.games import Game
from rookery.server.db.table import columns
from rookery.server.files.access import FileAccessRows, RepeatedUpload, StoredUsage
from rookery.server.files.blobs import ListedBlob, UnknownBlob, make_key
from rookery.server.files.books import BookRows, StoredBook
from rookery.server.files.engine_files import (
    NetRows,
    NetSearch,
    ProgramRows,
    StoredNet,
    StoredProgram,
)
from rookery.server.files.games import (
    GameRows,
    GameSpans,
    GameSum,
    GameUpload,
    IndexedGame,
    StoredGame,
    add_up_games,
)
from rookery.server.files.store import HasSize, QuotaExceeded, UserFile, UserFileRows
from rookery.server.files.worker_logs import LogRows, StoredLog

U = TypeVar("U", bound=UserFile)


class MemoryUserFiles(UserFileRows[U]):
    """Rows of one kind, in the order they were added."""

    def __init__(self) -> None:
        self._rows: dict[object, U] = {}

    async def get(self, key: object) -> U | None:
        return self._rows.get(key)

    async def add(self, file: U, *, limit: int | None = None, engine: str = "") -> U:
        del engine  # MemoryFileAccess is told of it
        key, *_ = columns(file)  # type: ignore[arg-type]
        if key not in self._rows:
            check_among(self._rows.values(), file, limit)
        return self._rows.setdefault(key, file)

    async def list_all(self) -> tuple[U, ...]:
        return tuple(self._rows.values())

    async def find_known(self, blobs: Collection[str]) -> frozenset[str]:
        return frozenset(row.blob for row in self._rows.values() if row.blob in blobs)

    async def forget(self, blobs: Collection[str]) -> bool:
        self._rows = {key: row for key, row in self._rows.items() if row.blob not in blobs}
        return True

    async def may_remove_files(self) -> bool:
        return True


def check_among(kept: Iterable[HasSize], new: HasSize, limit: int | None) -> None:
    """Checks the quota. Each twin only knows files of its own kind."""
    if limit is not None:
        used = sum(each.size for each in kept if each.user == new.user)
        if used + new.size > limit:
            raise QuotaExceeded(used=used, allowed=limit, size=new.size)


class MemoryNets(MemoryUserFiles[StoredNet], NetRows):
    async def list_all(self) -> tuple[StoredNet, ...]:
        newest_first = sorted(
            self._rows.values(), key=lambda net: (-net.created.timestamp(), net.name)
        )
        return tuple(newest_first)

    async def find_page(self, search: NetSearch) -> tuple[StoredNet, ...]:
        text, user = search.text.casefold(), search.user.casefold()

        def find_giver(net: StoredNet, part: str) -> bool:
            return part in net.user.casefold() and net.name not in search.repeated

        found = [
            net
            for net in await self.list_all()
            if net.name not in search.hidden
            and (text in net.name.casefold() or find_giver(net, text))
            and (not user or find_giver(net, user))
        ]
        return tuple(found[search.first : search.first + search.limit])

    async def note_downloads(self, counts: Mapping[str, int]) -> None:
        for name in counts.keys() & self._rows.keys():
            net = self._rows[name]
            self._rows[name] = replace(net, downloads=net.downloads + counts[name])


class MemoryBooks(MemoryUserFiles[StoredBook], BookRows):
    async def list_all(self) -> tuple[StoredBook, ...]:
        return tuple(sorted(self._rows.values(), key=lambda book: book.name))


class MemoryPrograms(MemoryUserFiles[StoredProgram], ProgramRows):
    """Programs by the hash of their bytes."""

    async def list_of_user(self, user: str, limit: int) -> tuple[StoredProgram, ...]:
        own = [program for program in self._rows.values() if program.user == user]
        return tuple(sorted(own, key=lambda program: program.created, reverse=True)[:limit])


class MemoryGames(GameRows):
    """Games that are kept for ever."""

    def __init__(self) -> None:
        self.rows: list[GameUpload] = []
        self._games: dict[tuple[str, int], list[Game]] = {}

    async def add(self, upload: GameUpload, games: Sequence[Game]) -> None:
        self.rows.append(upload)
        self._games.setdefault((upload.run, upload.task), []).extend(games)

    async def list_games(self, run_id: str, task_id: int) -> tuple[Game, ...]:
        return tuple(self._games.get((run_id, task_id), ()))

    async def list_run_games(self, run_id: str, first: int, count: int) -> tuple[IndexedGame, ...]:
        tasks = sorted(task for run, task in self._games if run == run_id)
        found = [
            IndexedGame(task, number, game)
            for task in tasks
            for number, game in enumerate(self._games[run_id, task])
        ]
        return tuple(found[first : first + count])

    async def of_task(self, run_id: str, task_id: int) -> tuple[GameUpload, ...]:
        return tuple(pgn for pgn in self.rows if (pgn.run, pgn.task) == (run_id, task_id))

    async def find_present(self, tasks: Collection[tuple[str, int]]) -> frozenset[tuple[str, int]]:
        return frozenset(tasks) & {(pgn.run, pgn.task) for pgn in self.rows}

    async def of_run(self, run_id: str) -> tuple[GameUpload, ...]:
        found = [pgn for pgn in self.rows if pgn.run == run_id]
        return tuple(sorted(found, key=lambda pgn: pgn.task))

    async def list_sums(self, run_id: str) -> tuple[GameSum, ...]:
        games = [game for (run, _), found in self._games.items() if run == run_id for game in found]
        return add_up_games(games)

    async def list_latest(self, run_id: str, uploads: int) -> tuple[IndexedGame, ...]:
        del uploads
        here = {pgn.task: pgn.blob for pgn in reversed(await self.of_run(run_id))}
        found = await self.list_run_games(run_id, 0, 2**31)
        return tuple(replace(each, blob=here.get(each.task, "")) for each in found)

    async def find_game(self, run_id: str, task_id: int, number: int) -> StoredGame | None:
        games = await self.list_games(run_id, task_id)
        here = await self.of_task(run_id, task_id)
        if number >= len(games):
            return None
        return StoredGame(games[number], here[0].blob if here else "")

    async def find_latest(self, run_id: str, count: int = 1) -> tuple[GameUpload, ...]:
        return tuple([pgn for pgn in reversed(self.rows) if pgn.run == run_id][:count])

    async def find_tasks(self, run_id: str, tasks: Collection[int]) -> frozenset[int]:
        return frozenset(pgn.task for pgn in self.rows if pgn.run == run_id and pgn.task in tasks)

    async def find_known(self, blobs: Collection[str]) -> frozenset[str]:
        return frozenset(pgn.blob for pgn in self.rows if pgn.blob in blobs)

    async def find_expired(
        self, now: datetime, limit: int, spans: GameSpans
    ) -> tuple[GameUpload, ...]:
        del now, limit, spans
        return ()

    async def forget(self, blobs: Collection[str]) -> bool:
        self.rows = [pgn for pgn in self.rows if pgn.blob not in blobs]
        return True

    async def may_remove_files(self) -> bool:
        return True


class MemoryFileAccess(FileAccessRows):
    def __init__(self, engines: dict[str, str] | None = None) -> None:
        """`engines` is shared with the log's twin if that should leave out lines about hidden
        files."""
        self._engines = {} if engines is None else engines
        self._repeats: dict[tuple[str, str, str], RepeatedUpload] = {}

    async def list_engines(self) -> Mapping[str, str]:
        return dict(self._engines)

    async def load_usage(self, user: str, limit: int | None) -> StoredUsage:
        """The usage by repeated uploads only, since each twin only knows files of its own kind."""
        return StoredUsage(sum(each.size for each in self._repeats.values()), limit)

    async def add(self, file: str, engine: str) -> None:
        self._engines.setdefault(file, engine)

    async def remove(self, file: str) -> None:
        self._engines.pop(file, None)
        self._repeats = {key: each for key, each in self._repeats.items() if each.file != file}

    async def list_repeats(self) -> tuple[RepeatedUpload, ...]:
        return tuple(sorted(self._repeats.values(), key=lambda each: (each.at, each.user)))

    async def add_repeat(self, repeat: RepeatedUpload, *, limit: int | None = None) -> None:
        key = repeat.file, repeat.engine, repeat.user
        if key not in self._repeats:
            check_among(self._repeats.values(), repeat, limit)
            self._repeats[key] = repeat

    async def remove_repeat(self, repeat: RepeatedUpload) -> None:
        self._repeats.pop((repeat.file, repeat.engine, repeat.user), None)


class MemoryBlobs:
    """Blobs as bytes."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def draft(self, key: str = "") -> "MemoryDraft":
        return MemoryDraft(self._kept, key)

    def open(self, key: str, start: int = 0) -> BinaryIO:
        if key not in self._kept:
            raise UnknownBlob(key)
        return BytesIO(self._kept[key][start:])

    def fetch(self, key: str) -> BinaryIO:
        return self.open(key)

    def has(self, key: str) -> bool:
        return key in self._kept

    def remove(self, key: str) -> None:
        self._kept.pop(key, None)

    def list_all(self, *, older_than_seconds: float = 0.0) -> Iterator[ListedBlob]:
        del older_than_seconds
        return iter([ListedBlob(key, len(data)) for key, data in self._kept.items()])

    def sign(self, key: str, seconds: int) -> str:
        del key, seconds
        return ""


class MemoryDraft:
    def __init__(self, kept: dict[str, bytes], key: str = "") -> None:
        self._kept = kept
        self._key = key or make_key()
        self._data = bytearray()

    def write(self, data: bytes) -> None:
        self._data += data

    def open(self) -> BinaryIO:
        return BytesIO(bytes(self._data))

    def keep(self) -> str:
        self._kept[self._key] = bytes(self._data)
        return self._key

    def drop(self) -> None:
        self._data.clear()


class MemoryLogs(LogRows):
    def __init__(self) -> None:
        self.rows: list[StoredLog] = []

    async def add(self, log: StoredLog) -> None:
        self.rows.append(replace(log, id=len(self.rows) + 1))

    async def count(self, run_id: str, task_id: int) -> int:
        return sum((log.run, log.task) == (run_id, task_id) for log in self.rows)

    async def of_run(self, run_id: str, first: int, count: int) -> tuple[StoredLog, ...]:
        found = [log for log in reversed(self.rows) if log.run == run_id]
        return tuple(found[first : first + count])

    async def of_tasks(self, tasks: Collection[tuple[str, int]]) -> tuple[StoredLog, ...]:
        return tuple(log for log in self.rows if (log.run, log.task) in tasks)

    async def get(self, key: object) -> StoredLog | None:
        return next((log for log in self.rows if log.id == key), None)

    async def find_known(self, blobs: Collection[str]) -> frozenset[str]:
        return frozenset(log.blob for log in self.rows if log.blob in blobs)

    async def find_expired(self, before: datetime, limit: int) -> tuple[StoredLog, ...]:
        return tuple(log for log in self.rows if log.at < before)[:limit]

    async def forget(self, blobs: Collection[str]) -> bool:
        self.rows = [log for log in self.rows if log.blob not in blobs]
        return True

    async def may_remove_files(self) -> bool:
        return True
