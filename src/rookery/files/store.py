"""Blobs: games, logs and other files too large for rows, kept under keys that mean nothing."""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from rookery.boundary.domains import Domain, runs
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.db.target import reached, sync


class UnknownBlob(Exception):
    """There is no blob of that key."""


class NoRoom(Exception):
    """The disk is nearly full: what is left of it belongs to the database."""


class Draft(Protocol):
    """A blob in the making, of which nobody hears before it is kept. All of it blocks."""

    def write(self, data: bytes) -> None:
        """Raises NoRoom."""
        ...

    def keep(self) -> str:
        """Safe on the disk from here on; gives its key."""
        ...

    def drop(self) -> None:
        """Nothing is left; after `keep` this does nothing."""
        ...


class Blobs(Protocol):
    """All of these block: call them in a thread.

    A blob is safe on the disk before its key is given out. Whoever dies between that and the row
    which names it leaves an orphan, and those are swept.
    """

    def write(self, data: bytes) -> str:
        """Keeps the bytes for good and gives their key."""
        ...

    def draft(self) -> Draft:
        """For bytes that come in pieces."""
        ...

    def read(self, key: str) -> bytes:
        """Raises UnknownBlob."""
        ...

    def open(self, key: str) -> BinaryIO:
        """The bytes piece by piece; raises UnknownBlob."""
        ...

    def path(self, key: str) -> Path:
        """Where the bytes lie, for those who send them piece by piece; raises UnknownBlob."""
        ...

    def remove(self, key: str) -> None:
        """A key that is unknown is no fault."""
        ...

    def older_than(self, seconds: float) -> Iterator[str]:
        """Keys of blobs that have been there for longer than that."""
        ...


# Orphans: blobs that no row names, because whoever wrote them died before the row.

AT_A_TIME = 200
ORPHAN_SECONDS = 86_400.0
"""A blob this old without a row will not get one any more."""


class Names(Protocol):
    """Rows that name blobs."""

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        """Those of the keys that a row names."""
        ...


@runs(Domain.THREAD, "files are listed and removed in threads, rows are awaited")
async def swept(blobs: Blobs, rows: Names, threads: Threads) -> None:
    """Removes blobs that no row ever came to name."""
    old = await threads.io(lambda: list(blobs.older_than(ORPHAN_SECONDS)))
    for start in range(0, len(old), AT_A_TIME):
        part = old[start : start + AT_A_TIME]
        named = await rows.known(part)
        await threads.io(remove, blobs, [key for key in part if key not in named])


def remove(blobs: Blobs, keys: Iterable[str]) -> None:
    """Blocks, as all that touches files does."""
    for key in keys:
        blobs.remove(key)


# Blobs in a folder: each a file that is whole and safe before anybody hears of it.

KEY_BYTES = 16
SPREAD = 2
"""Files are spread over folders named by the first characters of their keys."""
UNFINISHED = ".part"
RESERVE = 256 * 10**6
"""Bytes that are left free: without them the database stops, and everything with it."""


class FolderBlobs:
    """Everything here blocks, as the port says."""

    def __init__(self, folder: Path, clock: Clock, *, reserve: int = RESERVE) -> None:
        self._folder = folder
        self._clock = clock
        self._reserve = reserve

    def write(self, data: bytes) -> str:
        return written(self.draft(), data)

    def draft(self) -> "FolderDraft":
        place = self._place(secrets.token_hex(KEY_BYTES))
        self._make(place.parent)
        return FolderDraft(place, self._reserve)

    def read(self, key: str) -> bytes:
        return self.path(key).read_bytes()

    def open(self, key: str) -> BinaryIO:
        return self.path(key).open("rb")

    def path(self, key: str) -> Path:
        place = self._place(key)
        if not place.is_file():
            raise UnknownBlob
        return place

    def remove(self, key: str) -> None:
        self._place(key).unlink(missing_ok=True)

    def older_than(self, seconds: float) -> Iterator[str]:
        """Also those that were never finished: removing one of these removes what is there."""
        before = self._clock.now().timestamp() - seconds
        for place in self._folder.glob("*/*"):
            if place.stat().st_mtime < before:
                if place.suffix == UNFINISHED:
                    place.unlink(missing_ok=True)
                else:
                    yield place.name

    def _place(self, key: str) -> Path:
        if len(key) != 2 * KEY_BYTES or not key.isalnum():
            raise UnknownBlob
        return self._folder / key[:SPREAD] / key

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            sync(folder.parent)


class FolderDraft:
    """A file under another name until it is whole."""

    def __init__(self, place: Path, reserve: int) -> None:
        self._place = place
        self._reserve = reserve
        self._unfinished = place.with_suffix(UNFINISHED)
        self._file = self._unfinished.open("xb")
        # Held while somebody writes it; a process that dies lets go of it.
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def write(self, data: bytes) -> None:
        disk = os.fstatvfs(self._file.fileno())
        if disk.f_bavail * disk.f_frsize < self._reserve + len(data):
            raise NoRoom
        self._file.write(data)

    def keep(self) -> str:
        with self._file as file:
            file.flush()
            os.fsync(file.fileno())
        reached("blob_before_rename")
        self._unfinished.rename(self._place)
        sync(self._place.parent)
        reached("blob_after_rename")
        return self._place.name

    def drop(self) -> None:
        self._file.close()
        self._unfinished.unlink(missing_ok=True)


def free_bytes(folder: Path) -> int:
    """What may still be written on the disk of a folder, which need not be there yet; it blocks."""
    while not folder.exists():
        folder = folder.parent
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def remove_unfinished(folder: Path) -> None:
    """Removes what processes that died had begun to write, in all folders of blobs below this."""
    for place in folder.glob(f"*/*/*{UNFINISHED}"):
        with contextlib.suppress(OSError), place.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            place.unlink()


def written(draft: Draft, data: bytes) -> str:
    """All at once; a full disk leaves nothing behind."""
    try:
        draft.write(data)
        return draft.keep()
    finally:
        draft.drop()
