"""Blobs: the bytes of games, logs and uploads, kept under keys that mean nothing.

Everything here blocks: call it in a thread.
"""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from rookery.clock import Clock
from rookery.db.target import reached, sync

KEY_BYTES = 16
FOLDER_CHARACTERS = 2
"""Files are spread over folders that are named by the first characters of their keys."""
UNFINISHED = ".part"
RESERVE = 256 * 10**6
"""Bytes that are left free: without them the database stops, and everything with it."""


class UnknownBlob(Exception):
    """There is no blob of that key."""


class DiskNearlyFull(Exception):
    """The disk is nearly full: what is left of it belongs to the database."""


class Draft(Protocol):
    """A blob in the making, which nobody finds before it is kept."""

    def write(self, data: bytes) -> None:
        """Raises DiskNearlyFull."""
        ...

    def keep(self) -> str:
        """Makes the blob safe on the disk, then gives its key."""
        ...

    def drop(self) -> None:
        """Leaves nothing behind; after `keep` this does nothing."""
        ...


class Blobs(Protocol):
    """Where bytes are kept. A blob is safe before its key is given out."""

    def draft(self) -> Draft:
        """Begins a blob, whose bytes come in pieces."""
        ...

    def open(self, key: str, start: int = 0) -> BinaryIO:
        """The bytes from a place on; raises UnknownBlob."""
        ...

    def has(self, key: str) -> bool: ...

    def remove(self, key: str) -> None:
        """A key that is unknown is no fault."""
        ...

    def older_than(self, seconds: float) -> Iterator[str]:
        """Keys of blobs that have been there for longer than that."""
        ...


def write_blob(blobs: Blobs, data: bytes) -> str:
    """Keeps the bytes for good and gives their key; a full disk leaves nothing behind."""
    draft = blobs.draft()
    try:
        draft.write(data)
        return draft.keep()
    finally:
        draft.drop()


def read_blob(blobs: Blobs, key: str) -> bytes:
    """Raises UnknownBlob."""
    with blobs.open(key) as file:
        return file.read()


class FolderBlobs:
    """Blobs as files of a folder, each whole and safe before anybody hears of it."""

    def __init__(self, folder: Path, clock: Clock, *, reserve: int = RESERVE) -> None:
        self._folder = folder
        self._clock = clock
        self._reserve = reserve

    def draft(self) -> "FolderDraft":
        path = self.path(secrets.token_hex(KEY_BYTES))
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            sync(path.parent.parent)
        return FolderDraft(path, self._reserve)

    def open(self, key: str, start: int = 0) -> BinaryIO:
        try:
            file = self.path(key).open("rb")
        except FileNotFoundError:
            raise UnknownBlob(key) from None
        file.seek(start)
        return file

    def has(self, key: str) -> bool:
        try:
            return self.path(key).is_file()
        except UnknownBlob:
            return False

    def remove(self, key: str) -> None:
        self.path(key).unlink(missing_ok=True)

    def older_than(self, seconds: float) -> Iterator[str]:
        """Removes what was never finished and is as old."""
        before = self._clock.now().timestamp() - seconds
        for path in self._folder.glob("*/*"):
            if path.stat().st_mtime < before:
                if path.suffix == UNFINISHED:
                    path.unlink(missing_ok=True)
                else:
                    yield path.name

    def path(self, key: str) -> Path:
        """Where a blob of that key lies, if there is one; raises UnknownBlob for what is no key."""
        if len(key) != 2 * KEY_BYTES or not key.isalnum():
            raise UnknownBlob(key)
        return self._folder / key[:FOLDER_CHARACTERS] / key


class FolderDraft:
    """A file under another name until it is whole."""

    def __init__(self, path: Path, reserve: int) -> None:
        self._path = path
        self._reserve = reserve
        self._unfinished = path.with_suffix(UNFINISHED)
        self._file = self._unfinished.open("xb")
        # Held while somebody writes it; a process that dies lets go of it.
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def write(self, data: bytes) -> None:
        disk = os.fstatvfs(self._file.fileno())
        if disk.f_bavail * disk.f_frsize < self._reserve + len(data):
            raise DiskNearlyFull
        self._file.write(data)

    def keep(self) -> str:
        with self._file as file:
            file.flush()
            os.fsync(file.fileno())
        reached("blob_before_rename")
        self._unfinished.rename(self._path)
        sync(self._path.parent)
        reached("blob_after_rename")
        return self._path.name

    def drop(self) -> None:
        self._file.close()
        self._unfinished.unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Removes what processes that died had begun to write, in all folders of blobs below this."""
    for path in folder.glob(f"*/*/*{UNFINISHED}"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
