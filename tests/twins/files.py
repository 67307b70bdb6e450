"""In-memory twins of files and their rows."""

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from rookery.files.books import Book
from rookery.files.games import IndexedGame, Pgn
from rookery.files.nets import Net, NetExists
from rookery.files.programs import Binary
from rookery.files.quotas import GivenAgain, check_among
from rookery.files.store import KEY_BYTES, UnknownBlob, written
from rookery.files.worker_logs import WorkerLog
from rookery.protocol.games import Game


class MemoryBooks:
    def __init__(self) -> None:
        self._rows: dict[str, Book] = {}

    async def by_name(self, name: str) -> Book | None:
        return self._rows.get(name)

    async def add(self, book: Book, *, limit: int | None = None) -> Book:
        if book.name not in self._rows:
            check_among(self._rows.values(), book, limit)
        return self._rows.setdefault(book.name, book)

    async def remove(self, name: str) -> None:
        self._rows.pop(name, None)

    async def everything(self) -> tuple[Book, ...]:
        return tuple(self._rows[name] for name in sorted(self._rows))

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        return frozenset(row.blob for row in self._rows.values() if row.blob in keys)


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


class MemoryBlobs:
    """The same in memory."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def write(self, data: bytes) -> str:
        return written(self.draft(), data)

    def draft(self) -> "MemoryDraft":
        return MemoryDraft(self._kept)

    def read(self, key: str) -> bytes:
        if key not in self._kept:
            raise UnknownBlob
        return self._kept[key]

    def open(self, key: str) -> BinaryIO:
        return BytesIO(self.read(key))

    def path(self, key: str) -> Path:
        raise UnknownBlob(key)

    def remove(self, key: str) -> None:
        self._kept.pop(key, None)

    def older_than(self, seconds: float) -> Iterator[str]:
        del seconds
        return iter(tuple(self._kept))


class MemoryDraft:
    def __init__(self, kept: dict[str, bytes]) -> None:
        self._kept = kept
        self._data = bytearray()

    def write(self, data: bytes) -> None:
        self._data += data

    def keep(self) -> str:
        key = secrets.token_hex(KEY_BYTES)
        self._kept[key] = bytes(self._data)
        return key

    def drop(self) -> None:
        self._data.clear()


class MemoryWorkerLogs:
    def __init__(self) -> None:
        self.rows: list[WorkerLog] = []

    async def add(self, log: WorkerLog) -> None:
        self.rows.append(replace(log, id=len(self.rows) + 1))

    async def count(self, run_id: str, task_id: int) -> int:
        return sum((log.run, log.task) == (run_id, task_id) for log in self.rows)

    async def of_run(self, run_id: str, first: int, count: int) -> tuple[WorkerLog, ...]:
        found = [log for log in reversed(self.rows) if log.run == run_id]
        return tuple(found[first : first + count])

    async def one(self, log_id: int) -> WorkerLog | None:
        return next((log for log in self.rows if log.id == log_id), None)

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        return frozenset(log.blob for log in self.rows if log.blob in keys)

    async def older(self, than: datetime, limit: int) -> tuple[WorkerLog, ...]:
        return tuple(log for log in self.rows if log.at < than)[:limit]

    async def forget(self, keys: Collection[str]) -> None:
        self.rows = [log for log in self.rows if log.blob not in keys]
