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


class EmptyUpload(Exception):
    """There is nothing in this upload."""


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
        """Raises EmptyUpload or QuotaExceeded."""
        found, _ = await received(pieces, self.blobs, self._threads, NoLook())
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
