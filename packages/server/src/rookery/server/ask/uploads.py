"""Texts that people upload for Ask: plain text, Markdown, and the text of PDF files.

An upload is visible to its uploader only, unless shared. It is stored at once and read later by a
job, since reading a PDF may take long. Its state is `waiting` until then, `read` afterwards, and
`indexed` when questions can find it; or `refused`, with the reason.
"""

import codecs
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.server.ask import pdf_text
from rookery.server.ask.corpus import UPLOAD_PREFIX
from rookery.server.boundary.domains import Domain, runs
from rookery.server.db.pool import clean
from rookery.server.files.blobs import Blobs, UnknownBlob
from rookery.server.files.store import (
    MB,
    FileRefused,
    UnknownFile,
    UserFileRows,
    UserFileStore,
    receive,
)
from rookery.server.http.limits import LARGEST_DOCUMENT

LONGEST_NAME = 200
READING_SECONDS = 60.0
"""The time limit for reading one PDF; its processor time is limited as well."""
READ_SECONDS = 5.0
"""The interval of the job that reads new uploads."""
MOST_WAITING = 20
"""How many of one user's documents may wait to be read."""
PDF_HEAD = b"%PDF-"
MARKDOWN_ENDINGS = (".md", ".markdown", ".mdown")


@dataclass(frozen=True, slots=True)
class StoredUpload:
    """The row of an upload. `state` is `waiting`, `read`, `indexed` or `refused`."""

    id: str
    blob: str
    size: int
    user: str
    sha256: str
    name: str
    format: str
    shared: bool
    created: datetime
    state: str = "waiting"
    problem: str = ""

    @property
    def key(self) -> str:
        return f"{UPLOAD_PREFIX}{self.id}"


class UploadRows(UserFileRows[StoredUpload]):
    """The rows of uploads; changes are noted for the index in the same transaction."""

    name = "ask_uploads"
    kind = StoredUpload

    async def list_seen_by(self, user: str, first: int, most: int) -> tuple[StoredUpload, ...]:
        """Return the user's own uploads and shared ones, newest first."""
        return await self._many(self.kind, "ask_uploads_seen_by", user, most, first)

    async def list_next(self) -> tuple[StoredUpload, ...]:
        """Each user's next upload to read, texts before PDFs: nobody waits for all of another's."""
        return await self._many(self.kind, "ask_uploads_next")

    async def count_waiting(self, user: str) -> int:
        return int(await self._value("ask_uploads_waiting", user))

    async def text_of(self, upload_id: str) -> str:
        """Return the text that was read from an upload so far."""
        return str(await self._value("ask_uploads_text", upload_id) or "")

    async def settle(self, upload: StoredUpload, text: str, problem: str = "") -> None:
        """Store the result of reading an upload."""
        state = "refused" if problem else "read"
        async with self._writing() as write:
            await write("ask_uploads_settle", upload.id, state, problem, clean(text))
            await write("ask_changes_add", [upload.key])

    async def share(self, upload: StoredUpload, shared: bool) -> None:
        async with self._writing() as write:
            await write("ask_uploads_share", upload.id, shared)
            await write("ask_changes_add", [upload.key])

    async def forget(self, blobs: Collection[str]) -> bool:
        async with self._writing() as write:
            gone = await write.column("ask_uploads_forget", list(blobs))
            await write("ask_changes_add", [f"{UPLOAD_PREFIX}{each}" for each in gone])
            return bool(await write("files_may_go"))


class UploadReader:
    """Distinguishes PDF from text by the first bytes, and refuses anything else."""

    def __init__(self, name: str) -> None:
        self.format = "markdown" if name.lower().endswith(MARKDOWN_ENDINGS) else "text"
        self._size = 0
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()

    def feed(self, data: bytes) -> bytes:
        if not self._size and data.startswith(PDF_HEAD):
            self.format = "pdf"
        self._size += len(data)
        if self._size > LARGEST_DOCUMENT:
            raise FileRefused(f"A document has at most {LARGEST_DOCUMENT // MB} MB.")
        if self.format != "pdf":
            self._check_text(data)
        return data

    def finish(self) -> bytes:
        if not self._size:
            raise FileRefused("This document is empty.")
        if self.format != "pdf":
            self._check_text(b"", final=True)
        return b""

    def _check_text(self, data: bytes, *, final: bool = False) -> None:
        try:
            text = self._decoder.decode(data, final)
        except UnicodeDecodeError:
            raise FileRefused("This is neither a PDF nor a text in UTF-8.") from None
        if "\0" in text:
            raise FileRefused("This is neither a PDF nor a text in UTF-8.")


def read_text(upload: StoredUpload, blobs: Blobs) -> str:
    """Return the text of an upload; blocks, and raises FileRefused."""
    try:
        with blobs.fetch(upload.blob) as file:
            if upload.format == "pdf":
                return read_pdf(file)
            most = 4 * pdf_text.MOST_CHARACTERS
            text = file.read(most).decode("utf-8-sig", "replace")
            return text[: pdf_text.MOST_CHARACTERS]
    except UnknownBlob:
        raise FileRefused("Its file is gone.") from None


def read_pdf(file: BinaryIO, seconds: float = READING_SECONDS) -> str:
    """Return the text of a PDF, read by a child process with limits; raise FileRefused."""
    program = [sys.executable, "-I", "-B", str(Path(pdf_text.__file__))]
    try:
        done = subprocess.run(
            program,
            stdin=file,
            capture_output=True,
            timeout=seconds,
            check=False,
            cwd="/",
            env={"LC_ALL": "C.UTF-8"},
        )
    except subprocess.TimeoutExpired:
        raise FileRefused("Reading this PDF takes too long.") from None
    if done.returncode == pdf_text.LOCKED:
        raise FileRefused("This PDF is locked with a password.")
    if done.returncode:
        raise FileRefused("This PDF can't be read.")
    text = done.stdout.decode("utf-8", "replace").strip()
    if not text:
        raise FileRefused("There is no text in this PDF; its pages may be scanned pictures.")
    return text


Unindex = Callable[[Sequence[str]], Awaitable[object]]


async def unindex_nothing(_keys: Sequence[str]) -> None:
    """Do nothing: the default for `unindex`, where there is no index."""


class Uploads(UserFileStore[UploadRows]):
    """Stores uploads; each user stores a given file once."""

    def __init__(
        self,
        rows: UploadRows,
        blobs: Blobs,
        threads: Threads,
        clock: Clock,
        *,
        limit: int | None = None,
        unindex: Unindex = unindex_nothing,
    ) -> None:
        """`unindex` removes documents from the index at once."""
        super().__init__(rows, blobs, threads, clock, limit=limit)
        self._unindex = unindex

    async def upload(
        self, pieces: AsyncIterator[bytes], name: str, user: str, *, shared: bool
    ) -> tuple[StoredUpload, bool]:
        """Return the upload that is stored, and whether it is new: the same bytes again give the
        first one. Raise FileRefused or QuotaExceeded."""
        if await self.rows.count_waiting(user) >= MOST_WAITING:
            raise FileRefused(
                f"{MOST_WAITING} documents of yours wait to be read. Try again later."
            )
        reader = UploadReader(name)
        found = await receive(pieces, self.blobs, self._threads, reader)
        new = StoredUpload(
            secrets.token_hex(16),
            found.blob,
            found.size,
            user,
            found.sha256,
            name[:LONGEST_NAME],
            reader.format,
            shared,
            self._clock.now(),
        )
        kept = await self._add(new)
        return kept, kept.blob == new.blob

    async def find(self, upload_id: str, user: str) -> StoredUpload:
        """Return an upload that somebody may see; raise UnknownFile."""
        found = await self.rows.get(upload_id)
        if found is None or not (found.shared or found.user == user):
            raise UnknownFile(kind="document", name=upload_id)
        return found

    async def find_own(self, upload_id: str, user: str, *, approver: bool = False) -> StoredUpload:
        """Return an upload that somebody may remove: their own, or for approvers a shared one;
        raise UnknownFile."""
        found = await self.find(upload_id, user)
        if found.user != user and not approver:
            raise UnknownFile(kind="document", name=upload_id)
        return found

    async def remove(self, upload: StoredUpload) -> None:
        await self._remove(upload)
        await self._unindex([upload.key])

    async def share(self, upload: StoredUpload, *, shared: bool) -> StoredUpload:
        """Make an upload visible to everybody, or to its uploader only."""
        await self.rows.share(upload, shared)
        if not shared:
            await self._unindex([upload.key])
        return await self.rows.get(upload.id) or upload

    @runs(Domain.LOOP, "awaits rows, and new files in threads")
    async def read_waiting(self) -> None:
        """Read the uploads that came since the last time; users take turns."""
        while following := await self.rows.list_next():
            for upload in following:
                await self._read(upload)

    async def _read(self, upload: StoredUpload) -> None:
        try:
            text = await self._threads.files(read_text, upload, self.blobs)
        except FileRefused as refused:
            await self.rows.settle(upload, "", str(refused))
        else:
            await self.rows.settle(upload, text)
