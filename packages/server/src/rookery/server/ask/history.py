"""Commit histories of repositories: read by git with limits, stored as rows, and kept up to date.

Only the commits of a repository are fetched, without files, if its server supports that. They are
read from git's output in a file of limited size, and stored in transactions of a few hundred. The
head of a history is written last: an interrupted update is repeated from the previous head, and
commits that are stored already are skipped.
"""

import asyncio
import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Protocol

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.model.engine import EngineRecord
from rookery.server.ask.corpus import COMMIT_PREFIX, KnownCommit
from rookery.server.boundary.domains import Domain, runs
from rookery.server.db.pool import clean
from rookery.server.db.table import Table
from rookery.server.http.steps import Process
from rookery.server.sources.commits import LONGEST_MESSAGE, SourceError
from rookery.server.sources.git import Git

MOST_COMMITS = 200_000
"""The most commits of a repository that are stored, the latest ones."""
LARGEST_LOG = 500 * 10**6
FETCH_SECONDS = 600.0
COMMITS_AT_A_TIME = 200
LONGEST_AUTHOR = 100
LOOK_AGAIN = timedelta(hours=6)
HISTORY_SECONDS = 900.0
"""The interval of the job, which usually finds nothing due."""
FOLDER = "histories"
_LAST_TIME = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
_FIELDS = 4
_FORMAT = "--format=tformat:%H%x00%an%x00%at%x00%B"
# No mailmap: it is in a file of the repository, which was not fetched.
_LOG = ("-c", "log.mailmap=false", "-c", "log.showSignature=false", "log", "-z", _FORMAT)


@dataclass(frozen=True, slots=True)
class ReadCommit:
    """A commit as read from git's output."""

    hash: str
    author: str
    at: datetime
    message: str


class CommitLog:
    """The commits of a repository since a head, read from a file with git's output."""

    def __init__(self, head: str, file: IO[bytes], *, rewritten: bool) -> None:
        self.head = head
        self.rewritten = rewritten
        """Whether the previous head is no longer part of this history."""
        self._file = file
        self._commits = parse_log(_chunks(file))

    def next_batch(self) -> list[ReadCommit]:
        """Return the next batch of commits; empty at the end."""
        return list(islice(self._commits, COMMITS_AT_A_TIME))

    def close(self) -> None:
        self._file.close()


class HistoryReader(Protocol):
    """Reads histories; blocks, at times for minutes."""

    def read(self, repository: str, head: str, *, known: bool) -> CommitLog:
        """Return the commits since `head`, or all if it is empty; raise SourceError. The server
        uses its own credentials only if `known` is set."""
        ...


@dataclass(frozen=True, slots=True)
class GitHistories:
    """Reads histories with git, from bare clones without files below a folder."""

    folder: Path
    git: Git

    def read(self, repository: str, head: str, *, known: bool) -> CommitLog:
        git = self.git if known else self.git.without_credentials()
        git = replace(git, seconds=FETCH_SECONDS)
        name = f"{'known' if known else 'open'} {repository}"
        clone = self.folder / hashlib.sha256(name.encode()).hexdigest()[:32]
        _fetch(git, repository, clone)
        return read_log(git, clone, head, "refs/heads/history")

    def read_local(self, clone: Path, head: str) -> CommitLog:
        """Return the history of a local clone, named by the operator."""
        return read_log(replace(self.git, seconds=FETCH_SECONDS), clone, head, "HEAD")

    def find_origin(self, clone: Path) -> str:
        """Return the address that a local clone was made from; empty if it has none."""
        try:
            return self.git.run("config", "--get", "remote.origin.url", folder=clone).strip()
        except SourceError:
            return ""


def _fetch(git: Git, repository: str, clone: Path) -> None:
    asked = git.pin_host(repository)
    if not (clone / "HEAD").is_file():
        shutil.rmtree(clone, ignore_errors=True)
        clone.mkdir(parents=True)
        git.run("init", "--quiet", "--bare", folder=clone)
    git.run("config", "remote.origin.url", repository, folder=clone)
    words = ("fetch", "--quiet", "--no-tags", "--force", "--filter=tree:0", "origin")
    asked.run(*words, "HEAD:refs/heads/history", folder=clone)


def read_log(git: Git, clone: Path, since: str, name: str) -> CommitLog:
    """Return the commits of a clone since a given one; raise SourceError."""
    head = git.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", folder=clone).strip()
    rewritten = bool(since) and not _is_ancestor(git, clone, since, head)
    wanted = head if rewritten or not since else f"{since}..{head}"
    file = NamedTemporaryFile(prefix="rookery-log-")  # noqa: SIM115 - closed by its reader
    limited = replace(git, largest_bytes=LARGEST_LOG)
    try:
        words = (f"--max-count={MOST_COMMITS}", f"--output={file.name}", wanted, "--")
        limited.run(*_LOG, *words, folder=clone)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return CommitLog(head, file, rewritten=rewritten)


def _is_ancestor(git: Git, clone: Path, since: str, head: str) -> bool:
    try:
        git.run("merge-base", "--is-ancestor", since, head, folder=clone)
    except SourceError:
        return False
    return True


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.read(2**20), b"")


def parse_log(chunks: Iterable[bytes]) -> Iterator[ReadCommit]:
    """Parse commits from git's output, in its order; very long messages are cut."""
    fields: list[str] = []
    for field in _split_at_zeros(chunks):
        fields.append(field)
        if len(fields) == _FIELDS:
            yield _read_commit(*fields)
            fields = []


def _split_at_zeros(chunks: Iterable[bytes]) -> Iterator[str]:
    """Split the output at zero bytes; a field beyond its limit is cut, so that memory is
    bounded."""
    longest = 4 * LONGEST_MESSAGE
    held = b""
    for chunk in chunks:
        first, *others = chunk.split(b"\0")
        held += first[: longest - len(held)]
        for other in others:
            yield held.decode("utf-8", "replace")
            held = other[:longest]


def _read_commit(commit: str, author: str, seconds: str, message: str) -> ReadCommit:
    """Return a commit from its fields; dates beyond the calendar's range, which authors can choose,
    are moved to its ends."""
    told = float(seconds) if seconds.lstrip("-").isdecimal() and len(seconds) < 20 else 0.0
    at = datetime.fromtimestamp(min(max(0.0, told), _LAST_TIME), UTC)
    return ReadCommit(
        commit, clean(author[:LONGEST_AUTHOR]), at, clean(message.strip()[:LONGEST_MESSAGE])
    )


@dataclass(frozen=True, slots=True)
class IndexedHistory:
    """A repository whose commits are indexed for an engine, or for none."""

    engine: str
    repository: str
    by_record: bool
    head: str
    looked: datetime
    problem: str = ""
    commits: int = 0


class HistoryRows(Table):
    """The rows of histories and commits; changes are noted for the index in the same
    transaction."""

    async def list_all(self) -> tuple[IndexedHistory, ...]:
        return await self._many(IndexedHistory, "ask_histories_all")

    async def put(self, found: IndexedHistory) -> None:
        row = (found.engine, found.repository, found.by_record, found.head, found.looked)
        await self._write("ask_histories_put", *row, found.problem)

    async def add_commits(self, commits: Sequence[KnownCommit]) -> int:
        """Store commits; return how many of them are new."""
        rows = [
            (each.engine, each.hash, each.repository, each.author, each.at, each.message)
            for each in commits
        ]
        async with self._writing() as write:
            turned = [list(column) for column in zip(*rows, strict=True)]
            new = set(await write.column("ask_commits_add", *turned))
            keys = [each.key for each in commits if each.hash in new]
            await write("ask_changes_add", keys)
        return len(keys)

    async def remove(self, history: IndexedHistory, *, keep: bool = False) -> None:
        """Remove all commits of a history in batches, and then the history itself unless `keep` is
        set."""
        removed, place = COMMITS_AT_A_TIME, (history.engine, history.repository)
        while removed == COMMITS_AT_A_TIME:
            async with self._writing() as write:
                gone = await write.column("ask_commits_remove", *place, COMMITS_AT_A_TIME)
                keys = [f"{COMMIT_PREFIX}{history.engine}/{each}" for each in gone]
                await write("ask_changes_add", keys)
            removed = len(gone)
        if not keep:
            await self._write("ask_histories_remove", *place)


Tell = Callable[[int], object]


def ignore_progress(_commits: int) -> None:
    """Ignore progress: the job's progress is in the log."""


class Histories:
    """Updates histories."""

    def __init__(self, rows: HistoryRows, threads: Threads, clock: Clock) -> None:
        self.rows = rows
        self._threads = threads
        self._clock = clock

    async def update(
        self,
        history: IndexedHistory,
        read: Callable[[str], CommitLog],
        tell: Tell = ignore_progress,
    ) -> int:
        """Store new commits since the last update, and return their number; raise SourceError,
        which is also stored. `read` blocks and gets the previous head."""
        try:
            log = await self._threads.io(read, history.head)
        except SourceError as why:
            looked = replace(history, looked=self._clock.now(), problem=str(why)[:300])
            await self.rows.put(looked)
            raise
        try:
            if log.rewritten:
                await self.rows.remove(history, keep=True)
            added = await self._store(history, log, tell)
        finally:
            await self._threads.io(log.close)
        done = replace(history, head=log.head, looked=self._clock.now(), problem="")
        await self.rows.put(done)
        return added

    async def _store(self, history: IndexedHistory, log: CommitLog, tell: Tell) -> int:
        added = 0
        while batch := await self._threads.io(log.next_batch):
            added += await self.rows.add_commits(
                [
                    KnownCommit(
                        engine=history.engine,
                        hash=each.hash,
                        repository=history.repository,
                        author=each.author,
                        at=each.at,
                        message=each.message,
                    )
                    for each in batch
                ]
            )
            tell(len(batch))
            await asyncio.sleep(0)
        return added


@dataclass(frozen=True, slots=True)
class WantedHistory:
    """The history that an engine's record asks for; `known` if the server may use its credentials
    for it, because they are granted to all who may see the engine."""

    engine: str
    repository: str
    known: bool


def list_wanted(
    records: Iterable[EngineRecord], may_open: Callable[[EngineRecord], bool]
) -> tuple[WantedHistory, ...]:
    asked = (record for record in records if record.history and "://" in record.repository)
    return tuple(WantedHistory(each.name, each.repository, may_open(each)) for each in asked)


def find_unwanted(
    stored: Iterable[IndexedHistory], wanted: Iterable[WantedHistory], engines: Iterable[str]
) -> tuple[IndexedHistory, ...]:
    """Return the histories of engines that no longer exist, and those that records no longer ask
    for."""
    asked = {(each.engine, each.repository) for each in wanted}
    present = {"", *engines}
    return tuple(
        each
        for each in stored
        if each.engine not in present
        or (each.by_record and (each.engine, each.repository) not in asked)
    )


@runs(Domain.LOOP, "awaits rows, and git in threads where something is due")
class HistoryKeeping:
    """Periodically fetches the histories that engines' records ask for, and removes the others."""

    def __init__(
        self,
        histories: Histories,
        reader: HistoryReader,
        process: Process,
        *,
        list_records: Callable[[], Iterable[EngineRecord]],
        may_open: Callable[[EngineRecord], bool],
        is_primary: Callable[[], bool],
    ) -> None:
        self._histories = histories
        self._reader = reader
        self._clock, self._log = process.clock, process.log
        self._list_records = list_records
        self._may_open = may_open
        self._is_primary = is_primary

    async def __call__(self) -> None:
        if not self._is_primary():
            return
        records = tuple(self._list_records())
        wanted = list_wanted(records, self._may_open)
        stored = await self._histories.rows.list_all()
        for gone in find_unwanted(stored, wanted, (record.name for record in records)):
            await self._histories.rows.remove(gone)
        known = {(each.engine, each.repository): each for each in stored}
        for each in wanted:
            before = known.get((each.engine, each.repository))
            if before is None or self._clock.now() - before.looked >= LOOK_AGAIN:
                await self._look(each, before)

    async def _look(self, wanted: WantedHistory, before: IndexedHistory | None) -> None:
        now = self._clock.now()
        history = replace(
            before or IndexedHistory(wanted.engine, wanted.repository, True, "", now),
            by_record=True,
        )

        def read(head: str) -> CommitLog:
            return self._reader.read(wanted.repository, head, known=wanted.known)

        try:
            added = await self._histories.update(history, read)
        except SourceError as why:
            self._log.warning("history_not_read", engine=wanted.engine, why=str(why))
        else:
            self._log.info("history_read", engine=wanted.engine, commits=added)
