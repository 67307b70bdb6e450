"""Programs that people upload: known by the SHA-256 of their bytes, played as they are."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from rookery.files.store import FileRefused, UserFileRows, UserFileStore, receive
from rookery.model.engine import is_program


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """A program; `name` is what its file was called, for people to read."""

    sha256: str
    blob: str
    size: int
    name: str
    user: str
    created: datetime


class ProgramRows(UserFileRows[StoredProgram]):
    """All programs, by the SHA-256 of their bytes."""

    name = "binaries"
    kind = StoredProgram


class ProgramStore(UserFileStore[ProgramRows]):
    """Takes programs in; the same bytes are kept once, whoever sends them."""

    async def take(self, pieces: AsyncIterator[bytes], name: str, user: str) -> StoredProgram:
        """Raises FileRefused or QuotaExceeded."""
        found = await receive(pieces, self.blobs, self._threads, ProgramReader())
        now = self._clock.now()
        return await self._add(StoredProgram(found.sha256, found.blob, found.size, name, user, now))


class ProgramReader:
    """Refuses what does not begin as a program does."""

    def __init__(self) -> None:
        self._begun = False

    def feed(self, data: bytes) -> bytes:
        if not self._begun and not is_program(data):
            raise FileRefused("This file is no program: no system could execute it.")
        self._begun = True
        return data

    def finish(self) -> bytes:
        if not self._begun:
            raise FileRefused("There is nothing in this upload.")
        return b""
