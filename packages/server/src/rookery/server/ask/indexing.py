"""The index job: follows changes of rows with its own cursors and keeps the index of Ask up to
date.

Theory of operation. A run's row has the number of the group commit that changed it last, and
commits are sequential: a reader that has seen all runs up to a commit and run id has missed none
before it. Log lines about runs are written by the same commits, so their own numbers serve as a
cursor. Everything else (commits of histories, uploads, pages of our docs) changes rarely: the
transaction that changes it writes its key into `ask_changes`. None of this adds work to a group
commit.

A slice and its cursor are written in one transaction. If the process is killed, the index agrees
with its cursor, and the next process continues there. A cursor is only moved from the position
where it was read, so if two processes index at the same time, one drops its slice.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import msgspec

import rookery.server
from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.model.run import Run
from rookery.server.ask.corpus import (
    COMMIT_PREFIX,
    DOC_PREFIX,
    LOGGED,
    RUN_PREFIX,
    UPLOAD_PREFIX,
    DocPage,
    KnownCommit,
    UploadedText,
    describe_action,
    describe_commit,
    describe_doc_page,
    describe_run,
    describe_upload,
)
from rookery.server.ask.passage_index import DIGEST_VERSION, PassageIndex
from rookery.server.ask.passages import Document
from rookery.server.boundary.domains import Domain, runs
from rookery.server.db.table import Table, Transaction
from rookery.server.farm.action_log import numbered_event_of
from rookery.server.farm.rows import run_of

DOCUMENTS_AT_A_TIME = 25
"""The documents of a slice, which take the database some hundredths of a second, and a thread
less."""
SLICE_CHARACTERS = 100_000
PAUSES = 3
"""The length of a pause relative to the slice before it, so that indexing takes a quarter of the
time."""
LONGEST_PAUSE_SECONDS = 1.0
INDEX_SECONDS = 10.0
"""The interval of the job."""


class CursorMoved(Exception):
    """Another process has indexed in the meantime; the next call continues from its position."""


@dataclass(frozen=True, slots=True)
class IndexCursor:
    """A position in a sequence of changes; `mark` distinguishes entries with the same number."""

    number: int = 0
    mark: str = ""


@dataclass(frozen=True, slots=True)
class IndexLag:
    """What is not indexed yet: the number of group commits, and of noted documents."""

    commits: int = 0
    documents: int = 0


@dataclass(frozen=True, slots=True)
class IndexStats:
    """Figures of the index job: the group commit up to which everything is indexed, the seconds
    since then, the noted documents that waited at that time, and all documents written."""

    commit: int
    seconds: float
    waiting: int
    written: int


class CorpusRows(Table):
    """The rows that are indexed, and notes of their changes; any process may use it."""

    async def cursor(self, name: str) -> IndexCursor:
        found = await self._one(IndexCursor, "ask_cursor", name)
        assert found is not None, name
        return found

    async def last_commit(self) -> int:
        """Return the number of the last group commit."""
        return int(await self._value("commits_sequence"))

    async def changed_runs(self, after: IndexCursor, most: int) -> list[asyncpg.Record]:
        """Rows of changed runs in the order of commits, to be decoded in a thread."""
        sql = self._queries["ask_runs_changed"]
        return await self._pool.fetch(sql, after.number, after.mark, most)

    async def actions_after(self, number: int, most: int) -> list[asyncpg.Record]:
        """Log lines, with the engines of their runs."""
        sql = self._queries["ask_actions_after"]
        return await self._pool.fetch(sql, number, sorted(LOGGED), most)

    async def next_changes(self, most: int) -> dict[str, int]:
        """Keys of changed documents, each with the number of its latest change."""
        found: tuple[dict[str, Any], ...] = await self._many(dict, "ask_changes_next", most)
        return {each["key"]: each["number"] for each in found}

    async def commits(self, keys: Sequence[str]) -> tuple[KnownCommit, ...]:
        parts = [key.removeprefix(COMMIT_PREFIX).rpartition("/") for key in keys]
        engines, hashes = [part[0] for part in parts], [part[2] for part in parts]
        return await self._many(KnownCommit, "ask_commits_of", engines, hashes)

    async def uploads(self, keys: Sequence[str]) -> tuple[UploadedText, ...]:
        ids = [key.removeprefix(UPLOAD_PREFIX) for key in keys]
        return await self._many(UploadedText, "ask_uploads_texts", ids)

    async def lag(self) -> IndexLag:
        found = await self._one(IndexLag, "ask_lag")
        assert found is not None
        return found

    async def note_docs(self, keys: Sequence[str], before: IndexCursor, digest: str) -> None:
        """Note all pages of the docs for indexing; raise CursorMoved."""
        async with self._writing() as write:
            await write("ask_changes_add", list(keys))
            await move_cursor("docs", before, IndexCursor(0, digest), write)

    async def begin_anew(self) -> None:
        """Empty the index and note everything for indexing."""
        async with self._writing() as write:
            await write("ask_lock")
            await write("ask_index_clear")
            await write("ask_cursors_reset")
            await write("ask_changes_everything")
            await write("ask_cursor_move", "index", 0, "", 0, index_version())


def index_version() -> str:
    return DIGEST_VERSION.decode()


async def move_cursor(
    name: str, before: IndexCursor, after: IndexCursor, write: Transaction
) -> None:
    """Move a cursor; raise CursorMoved. The commit does not wait for the disk: a lost slice is
    indexed again."""
    await write("commits_lightly")
    places = (before.number, before.mark, after.number, after.mark)
    if await write("ask_cursor_move", name, *places) is None:
        raise CursorMoved(name)


async def remove_indexed_notes(done: dict[str, int], write: Transaction) -> None:
    """Remove notes of documents that were indexed, unless these were noted again in the
    meantime."""
    await write("commits_lightly")
    await write("ask_changes_done", list(done), list(done.values()))


# Pages of our own docs, which are part of the wheel

PACKAGE = Path(rookery.server.__file__).parent


def read_doc_pages() -> tuple[DocPage, ...]:
    """Return the pages of this installation or checkout; blocks."""
    for folder in (PACKAGE / "docs", PACKAGE.parents[4] / "docs"):
        if folder.is_dir():
            files = sorted(folder.glob("*.md"))
            return tuple(DocPage(file.stem, file.read_text(encoding="utf-8")) for file in files)
    return ()


@dataclass(frozen=True, slots=True)
class DescribedSlice:
    """Documents to write, keys to remove, and the position up to which they are complete."""

    documents: tuple[Document, ...]
    removed: tuple[str, ...]
    at: IndexCursor
    unfinished: frozenset[str] = frozenset()
    """Keys of runs that will change again soon."""


def describe_runs(rows: Sequence[asyncpg.Record]) -> DescribedSlice:
    """Describe as many of the rows as one slice may contain."""
    found: list[tuple[Run, Document | None]] = []
    size = 0
    for row in rows:
        run = run_of(row)
        document = describe_run(run)
        size += len(document.body) if document else 0
        if found and size > SLICE_CHARACTERS:
            break
        found.append((run, document))
    last = rows[len(found) - 1]
    return DescribedSlice(
        tuple(document for _, document in found if document),
        tuple(f"{RUN_PREFIX}{run.id}" for run, document in found if document is None),
        IndexCursor(last["sequence"], last["id"]),
        frozenset(document.key for run, document in found if document and not run.status.finished),
    )


def cut_to_slice(documents: Sequence[Document]) -> list[Document]:
    """Return the first documents, as many as one slice may contain."""
    size = 0
    for place, document in enumerate(documents):
        size += len(document.body)
        if place and size > SLICE_CHARACTERS:
            return list(documents[:place])
    return list(documents)


def describe_actions(rows: Sequence[asyncpg.Record]) -> DescribedSlice:
    found = (describe_action(numbered_event_of(row), row["engines"]) for row in rows)
    documents = tuple(document for document in found if document)
    return DescribedSlice(documents, (), IndexCursor(rows[-1]["id"]))


def digest_pages(pages: Sequence[DocPage]) -> str:
    return hashlib.sha256(msgspec.json.encode(pages)).hexdigest()


Tell = Callable[[int], object]


def ignore_progress(_documents: int) -> None:
    """Ignore progress: the job's progress is in the metrics."""


@runs(Domain.THREAD, "documents are made and cut in threads, rows are awaited")
class Indexer:
    """The index job. One per process, active in the primary only."""

    def __init__(
        self,
        rows: CorpusRows,
        index: PassageIndex,
        threads: Threads,
        clock: Clock,
        *,
        read_pages: Callable[[], tuple[DocPage, ...]],
        is_primary: Callable[[], bool] = lambda: True,
    ) -> None:
        self.rows = rows
        self.index = index
        self._threads = threads
        self._clock = clock
        self._read_pages = read_pages
        self._is_primary = is_primary
        self._pages: dict[str, DocPage] | None = None
        self._known: dict[str, Document] = {}
        """The documents of active runs as last indexed: their results change, but rarely their
        words."""
        self._left = IndexCursor()
        self._lag = IndexLag()
        self._caught_up = clock.seconds()
        self._written = 0

    async def __call__(self) -> None:
        if self._is_primary():
            await self.catch_up()

    def stats(self) -> IndexStats:
        seconds = self._clock.seconds() - self._caught_up
        return IndexStats(self._left.number, seconds, self._lag.documents, self._written)

    async def catch_up(self, tell: Tell = ignore_progress) -> None:
        """Index everything that has changed; raise CursorMoved if another process does the same."""
        self._lag = await self.rows.lag()
        began = self._clock.seconds()
        await self._begin()
        await self._follow_runs(tell)
        await self._follow_actions(tell)
        await self._follow_changes(tell)
        self._lag, self._caught_up = await self.rows.lag(), began

    async def _begin(self) -> None:
        """Start over after an update that cuts passages differently, and note changed docs."""
        version = await self.rows.cursor("index")
        if version.mark != index_version():
            await self.rows.begin_anew()
            self._known.clear()
        pages, before = await self.load_pages(), await self.rows.cursor("docs")
        digest = digest_pages(tuple(pages.values()))
        if before.mark != digest:
            indexed = await self.index.list_keys(DOC_PREFIX)
            await self.rows.note_docs([*pages, *indexed], before, digest)

    async def load_pages(self) -> dict[str, DocPage]:
        """Return the pages of our docs by their keys; read once."""
        if self._pages is None:
            pages = await self._threads.io(self._read_pages)
            self._pages = {f"{DOC_PREFIX}{page.name}": page for page in pages}
        return self._pages

    async def _follow_runs(self, tell: Tell) -> None:
        at = await self.rows.cursor("runs")
        if at != self._left:
            self._known.clear()
        # Read the runs of the last commit again: a new primary that corrects sums does so under its
        # number.
        after, newest = IndexCursor(at.number), await self.rows.last_commit()
        while found := await self.rows.changed_runs(after, DOCUMENTS_AT_A_TIME):
            part = await self._threads.cpu_always(describe_runs, found)
            changed = [each for each in part.documents if self._known.get(each.key) != each]
            if changed or part.removed or part.at != at:
                move = partial(move_cursor, "runs", at, part.at)
                await self._write(changed, part.removed, move)
                tell(len(changed))
            self._remember(part)
            at = after = self._left = part.at
            if at.number > newest:
                # Runs that are played change all the time: later changes are for the next look.
                break
        if at.number < newest:
            # Later commits than the last run's changed no runs.
            self._left = IndexCursor(newest)
            await self._write((), (), partial(move_cursor, "runs", at, self._left))

    def _remember(self, part: DescribedSlice) -> None:
        for document in part.documents:
            if document.key in part.unfinished:
                self._known[document.key] = document
            else:
                self._known.pop(document.key, None)

    async def _follow_actions(self, tell: Tell) -> None:
        at = await self.rows.cursor("actions")
        while found := await self.rows.actions_after(at.number, DOCUMENTS_AT_A_TIME):
            part = await self._threads.cpu_always(describe_actions, found)
            move = partial(move_cursor, "actions", at, part.at)
            await self._write(part.documents, (), move)
            tell(len(part.documents))
            at = part.at

    async def _follow_changes(self, tell: Tell) -> None:
        while found := await self.rows.next_changes(DOCUMENTS_AT_A_TIME):
            documents = await self._load(list(found))
            gone = sorted(found.keys() - {document.key for document in documents})
            part = cut_to_slice(documents)
            done = {key: found[key] for key in (*gone, *(each.key for each in part))}
            await self._write(part, gone, partial(remove_indexed_notes, done))
            tell(len(done))

    async def _load(self, keys: Sequence[str]) -> list[Document]:
        """Return the documents of these keys that exist."""
        pages = await self.load_pages()
        commits = await self.rows.commits([key for key in keys if key.startswith(COMMIT_PREFIX)])
        uploads = await self.rows.uploads([key for key in keys if key.startswith(UPLOAD_PREFIX)])
        return [
            *(describe_doc_page(pages[key]) for key in keys if key in pages),
            *map(describe_commit, commits),
            *map(describe_upload, uploads),
        ]

    async def _write(
        self,
        documents: Sequence[Document],
        removed: Sequence[str],
        then: Callable[[Transaction], Awaitable[None]],
    ) -> None:
        """Write a slice, then pauses, so that the database is free for the farm."""
        began = self._clock.seconds()
        await self.index.apply(documents, removed, then=then)
        self._written += len(documents)
        taken = self._clock.seconds() - began
        await asyncio.sleep(min(PAUSES * taken, LONGEST_PAUSE_SECONDS))
