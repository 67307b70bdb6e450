"""Blobs: the bytes of games, logs and uploads, stored under random keys.

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
from rookery.db.target import pass_test_point, sync

KEY_BYTES = 16
FOLDER_CHARACTERS = 2
"""Files are spread over folders named by the first characters of the keys."""
UNFINISHED = ".part"
RESERVE = 256 * 10**6
"""Bytes that are left free for the database, which stops on a full disk."""


class UnknownBlob(Exception):
    """There is no blob of that key."""


class DiskNearlyFull(Exception):
    """The disk is nearly full: what is left is reserved for the database."""


class Draft(Protocol):
    """A blob that is being written; it has no key before `keep`."""

    def write(self, data: bytes) -> None:
        """Raises DiskNearlyFull."""
        ...

    def keep(self) -> str:
        """Syncs the blob to the disk and returns its key."""
        ...

    def drop(self) -> None:
        """Removes what was written; does nothing after `keep`."""
        ...


class Blobs(Protocol):
    """A store of blobs. A blob is on the disk before its key is known to anybody."""

    def draft(self) -> Draft:
        """Begins a new blob."""
        ...

    def open(self, key: str, start: int = 0) -> BinaryIO:
        """A file with the bytes from `start` on; raises UnknownBlob."""
        ...

    def has(self, key: str) -> bool: ...

    def remove(self, key: str) -> None:
        """Removes a blob; does nothing for an unknown key."""
        ...

    def list_older_than(self, seconds: float) -> Iterator[str]:
        """The keys of blobs that are older than that."""
        ...


def write_blob(blobs: Blobs, data: bytes) -> str:
    """Stores the bytes and returns their key; a failure leaves nothing behind."""
    draft = blobs.draft()
    try:
        draft.write(data)
        return draft.keep()
    finally:
        draft.drop()


def read_blob(blobs: Blobs, key: str) -> bytes:
    """All bytes of a blob; raises UnknownBlob."""
    with blobs.open(key) as file:
        return file.read()


class FolderBlobs:
    """Blobs as files in a folder."""

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

    def list_older_than(self, seconds: float) -> Iterator[str]:
        """Also removes unfinished files of that age."""
        before = self._clock.now().timestamp() - seconds
        for path in self._folder.glob("*/*"):
            if path.stat().st_mtime < before:
                if path.suffix == UNFINISHED:
                    path.unlink(missing_ok=True)
                else:
                    yield path.name

    def path(self, key: str) -> Path:
        """The path of a blob, which need not exist; raises UnknownBlob for text that is no key."""
        if len(key) != 2 * KEY_BYTES or not key.isalnum():
            raise UnknownBlob(key)
        return self._folder / key[:FOLDER_CHARACTERS] / key


class FolderDraft:
    """A file with the suffix `.part`, renamed to its key once it is complete."""

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
        pass_test_point("blob_before_rename")
        self._unfinished.rename(self._path)
        sync(self._path.parent)
        pass_test_point("blob_after_rename")
        return self._path.name

    def drop(self) -> None:
        self._file.close()
        self._unfinished.unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Removes the unfinished files of processes that died, in all folders of blobs in `folder`."""
    for path in folder.glob(f"*/*/*{UNFINISHED}"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
