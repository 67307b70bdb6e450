"""Programs that people upload: known by the SHA-256 of their bytes, played as they are."""

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.service.blobs import Blobs
from rookery.service.quotas import QuotaExceeded
from rookery.service.sources.uploads import NoLook, received

PROGRAM_HEADS = (
    b"\x7fELF",
    b"MZ",
    b"#!",
    *(b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe"),
    b"\xca\xfe\xba\xbe",
)
"""How programs begin: Linux's, Windows's, scripts, macOS's for one processor and for several."""


def is_program(head: bytes) -> bool:
    """Whether a file that begins so can be executed by some system."""
    return head.startswith(PROGRAM_HEADS)


class EmptyUpload(Exception):
    """There is nothing in this upload."""


class NotAProgram(Exception):
    """This file is no program: no system could execute it."""


class ProgramLook(NoLook):
    """Refuses what does not begin as a program does."""

    def __init__(self) -> None:
        self._seen = False

    def feed(self, data: bytes) -> bytes:
        if not self._seen and not is_program(data):
            raise NotAProgram
        self._seen = True
        return data


@dataclass(frozen=True, slots=True)
class Binary:
    """A program; `name` is what its file was called, for people to read."""

    sha256: str
    blob: str
    size: int
    name: str
    user: str
    created: datetime


class Binaries(Protocol):
    """The rows. Any process may write them."""

    async def by_hash(self, sha256: str) -> Binary | None: ...

    async def add(self, binary: Binary, *, limit: int | None = None) -> Binary:
        """The one that is kept: where the same bytes were there before, that. Raises QuotaExceeded
        where its giver has more than so many bytes then."""
        ...

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        """Those of the blobs that a row names."""
        ...


class BinaryStore:
    """Takes programs in; the same bytes are kept once, whoever sends them."""

    def __init__(
        self,
        rows: Binaries,
        blobs: Blobs,
        threads: Threads,
        clock: Clock,
        *,
        limit: int | None = None,
    ) -> None:
        """Everybody may keep `limit` bytes, unless something else is said of them."""
        self.rows = rows
        self.blobs = blobs
        self._threads = threads
        self._clock = clock
        self._limit = limit

    async def take(self, pieces: AsyncIterator[bytes], name: str, user: str) -> Binary:
        """Raises EmptyUpload, NotAProgram or QuotaExceeded."""
        found, _ = await received(pieces, self.blobs, self._threads, ProgramLook())
        new = Binary(found.sha256, found.blob, found.size, name, user, self._clock.now())
        try:
            kept = await self._added(new)
        except (EmptyUpload, QuotaExceeded):
            await self._threads.io(self.blobs.remove, new.blob)
            raise
        if kept.blob != new.blob:
            await self._threads.io(self.blobs.remove, new.blob)
        return kept

    async def _added(self, new: Binary) -> Binary:
        if not new.size:
            raise EmptyUpload
        return await self.rows.add(new, limit=self._limit)
