"""In-memory twins of Ask's sources: uploads, histories, and the cursors of the index."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import asyncpg

from rookery.server.ask.corpus import KnownCommit, UploadedText
from rookery.server.ask.history import CommitLog, HistoryRows, IndexedHistory
from rookery.server.ask.indexing import CorpusRows, IndexCursor, IndexLag, index_version
from rookery.server.ask.uploads import StoredUpload, UploadRows
from rookery.server.sources.commits import SourceError
from tests.twins.files import MemoryUserFiles


class MemoryCorpus(CorpusRows):
    """A corpus in which only the docs change."""

    def __init__(self) -> None:
        self.cursors = {"index": IndexCursor(0, index_version())}
        self.changes: dict[str, int] = {}

    async def cursor(self, name: str) -> IndexCursor:
        return self.cursors.get(name, IndexCursor())

    async def last_commit(self) -> int:
        return 0

    async def changed_runs(self, after: IndexCursor, most: int) -> list[asyncpg.Record]:
        return []

    async def actions_after(self, number: int, most: int) -> list[asyncpg.Record]:
        return []

    async def next_changes(self, most: int) -> dict[str, int]:
        found, self.changes = self.changes, {}
        return found

    async def commits(self, keys: Sequence[str]) -> tuple[KnownCommit, ...]:
        return ()

    async def uploads(self, keys: Sequence[str]) -> tuple[UploadedText, ...]:
        return ()

    async def note_docs(self, keys: Sequence[str], before: IndexCursor, digest: str) -> None:
        self.cursors["docs"] = IndexCursor(0, digest)
        self.changes |= dict.fromkeys(keys, 1)

    async def lag(self) -> IndexLag:
        return IndexLag(0, len(self.changes))


class MemoryHistories(HistoryRows):
    def __init__(self) -> None:
        self.stored: dict[tuple[str, str], IndexedHistory] = {}

    async def list_all(self) -> tuple[IndexedHistory, ...]:
        return tuple(self.stored.values())

    async def put(self, found: IndexedHistory) -> None:
        self.stored[found.engine, found.repository] = found

    async def remove(self, history: IndexedHistory, *, keep: bool = False) -> None:
        if not keep:
            self.stored.pop((history.engine, history.repository), None)


class NoHistories:
    """Histories of a site that reads no repositories."""

    def read(self, repository: str, head: str, *, known: bool) -> CommitLog:
        del head, known
        raise SourceError(f"this server does not fetch {repository}")


class MemoryUploads(MemoryUserFiles[StoredUpload], UploadRows):
    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}

    async def add(
        self, file: StoredUpload, *, limit: int | None = None, engine: str = ""
    ) -> StoredUpload:
        for row in self._rows.values():
            if (row.user, row.sha256) == (file.user, file.sha256):
                return row
        return await super().add(file, limit=limit, engine=engine)

    async def list_seen_by(self, user: str, first: int, most: int) -> tuple[StoredUpload, ...]:
        seen = [row for row in self._rows.values() if row.shared or row.user == user]
        seen.sort(key=lambda row: (-row.created.timestamp(), row.id))
        return tuple(seen[first : first + most])

    def _list_waiting(self) -> list[StoredUpload]:
        waiting = [row for row in self._rows.values() if row.state == "waiting"]
        return sorted(waiting, key=lambda row: (row.format == "pdf", row.created, row.id))

    async def list_next(self) -> tuple[StoredUpload, ...]:
        following = {row.user: row for row in reversed(self._list_waiting())}
        return tuple(row for row in self._list_waiting() if following[row.user] is row)

    async def count_waiting(self, user: str) -> int:
        return sum(row.user == user for row in self._list_waiting())

    async def text_of(self, upload_id: str) -> str:
        return self.texts.get(upload_id, "")

    async def settle(self, upload: StoredUpload, text: str, problem: str = "") -> None:
        state = "refused" if problem else "read"
        self._rows[upload.id] = replace(self._rows[upload.id], state=state, problem=problem)
        self.texts[upload.id] = text

    async def share(self, upload: StoredUpload, shared: bool) -> None:
        self._rows[upload.id] = replace(self._rows[upload.id], shared=shared)

    async def forget(self, blobs: Collection[str]) -> bool:
        return await MemoryUserFiles.forget(self, blobs)
