"""Blobs: the bytes of games, logs and uploads, stored under random keys.

There are three implementations: a folder, a folder shared by several servers, and S3-compatible
storage (`bucket.py`). Everything here blocks: call it in a thread.
"""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from rookery.core.clock import Clock
from rookery.server.db.target import pass_test_point, sync
from rookery.server.disk import NO_SPACE, DiskNearlyFull, StorageAway

KEY_BYTES = 16
FOLDER_CHARACTERS = 2
"""Files are spread over folders named by the first characters of the keys."""
UNFINISHED = ".part"
RESERVE = 256 * 10**6
"""Bytes on the disk that are kept free for the database, which stops on a full disk."""


class UnknownBlob(Exception):
    """There is no blob with that key."""


class DoubtfulCall(StorageAway):
    """A call of the storage failed for a reason that may concern only this call: a probe decides
    whether the storage is away. The caller is answered as if it were."""


@dataclass(frozen=True, slots=True)
class ListedBlob:
    """A blob as its store lists it."""

    key: str
    size: int


class Draft(Protocol):
    """A blob that is being written; it gets its key by `keep`."""

    def write(self, data: bytes) -> None:
        """Append bytes; raise DiskNearlyFull or StorageAway."""
        ...

    def open(self) -> BinaryIO:
        """Return a local file with what was written so far; only before `keep`."""
        ...

    def keep(self) -> str:
        """Make the blob durable and return its key; raise StorageAway."""
        ...

    def drop(self) -> None:
        """Remove what was written; do nothing after `keep`."""
        ...


class Blobs(Protocol):
    """A store of blobs. A blob is durable before its key is given out, and never changes. Every
    call may raise StorageAway."""

    def draft(self, key: str = "") -> Draft:
        """Begin a new blob; only copies of blobs give a key."""
        ...

    def open(self, key: str, start: int = 0) -> BinaryIO:
        """Return a file with the bytes from `start` on, read on demand; raise UnknownBlob."""
        ...

    def fetch(self, key: str) -> BinaryIO:
        """Return a local file with all bytes, so that reading it waits for nothing; raise
        UnknownBlob."""
        ...

    def has(self, key: str) -> bool: ...

    def remove(self, key: str) -> None:
        """Remove a blob; do nothing for an unknown key."""
        ...

    def list_all(self, *, older_than_seconds: float = 0.0) -> Iterator[ListedBlob]:
        """All blobs, or those of at least that age."""
        ...

    def sign(self, key: str, seconds: int) -> str:
        """Return a URL at which anybody can fetch the blob for `seconds`; empty if the store has
        none."""
        ...


def write_blob(blobs: Blobs, data: bytes) -> str:
    """Store the bytes and return their key; a failure leaves nothing behind."""
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


def make_key() -> str:
    return secrets.token_hex(KEY_BYTES)


def check_key(key: str) -> str:
    """Return a valid key; raise UnknownBlob for a text that is none."""
    if len(key) != 2 * KEY_BYTES or not key.isalnum() or not key.isascii():
        raise UnknownBlob(key)
    return key


def check_free_space(descriptor: int, reserve: int, size: int) -> None:
    """Raise DiskNearlyFull if `size` more bytes would leave less than the reserve on the disk of an
    open file."""
    disk = os.fstatvfs(descriptor)
    if disk.f_bavail * disk.f_frsize < reserve + size:
        raise DiskNearlyFull


@contextlib.contextmanager
def refusing_when_full() -> Iterator[None]:
    """Turn the error of a write on a full disk into DiskNearlyFull, since other writes may have
    used the space after the check."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE:
            raise DiskNearlyFull from None
        raise


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    """Turn errors of an unavailable file system into StorageAway; a full one is reported as
    full."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE:
            raise
        raise StorageAway(error.strerror or type(error).__name__) from None


class FolderBlobs:
    """Blobs as files in a folder, which several servers may share: a file appears complete or not
    at all, and no server writes to another's file."""

    def __init__(self, folder: Path, clock: Clock, *, reserve: int = RESERVE) -> None:
        self._folder = folder
        self._clock = clock
        self._reserve = reserve

    def draft(self, key: str = "") -> "FolderDraft":
        path = self.path(key or make_key())
        with refusing_when_full():
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

    def fetch(self, key: str) -> BinaryIO:
        return self.open(key)

    def has(self, key: str) -> bool:
        try:
            return self.path(key).is_file()
        except UnknownBlob:
            return False

    def remove(self, key: str) -> None:
        self.path(key).unlink(missing_ok=True)

    def list_all(self, *, older_than_seconds: float = 0.0) -> Iterator[ListedBlob]:
        """All blobs. With an age, it also removes unfinished files of that age."""
        before = self._clock.now().timestamp() - older_than_seconds
        for path in self._folder.glob("*/*"):
            try:
                found = path.stat()
            except FileNotFoundError:
                continue  # another server has removed it
            if older_than_seconds and found.st_mtime >= before:
                continue
            if path.suffix != UNFINISHED:
                yield ListedBlob(path.name, found.st_size)
            elif older_than_seconds:
                path.unlink(missing_ok=True)

    def sign(self, key: str, seconds: int) -> str:
        del key, seconds
        return ""

    def path(self, key: str) -> Path:
        """Return the path of a blob, which need not exist; raise UnknownBlob for text that is no
        key."""
        return self._folder / check_key(key)[:FOLDER_CHARACTERS] / key


class FolderDraft:
    """A file with the suffix `.part`, renamed to its key when it is complete. Its temporary name is
    unique, so that two copies of one blob do not collide."""

    def __init__(self, path: Path, reserve: int) -> None:
        self._path = path
        self._reserve = reserve
        self._unfinished = path.with_name(f"{path.name}-{secrets.token_hex(4)}{UNFINISHED}")
        self._file = self._unfinished.open("xb")
        # The lock shows that the file is being written, and is released if the process dies. On a
        # shared folder without locks, unfinished files are removed by age alone.
        with contextlib.suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def write(self, data: bytes) -> None:
        check_free_space(self._file.fileno(), self._reserve, len(data))
        with refusing_when_full():
            self._file.write(data)

    def open(self) -> BinaryIO:
        self._file.flush()
        return self._unfinished.open("rb")

    def keep(self) -> str:
        with refusing_when_full(), self._file as file:
            file.flush()
            os.fsync(file.fileno())
        pass_test_point("blob_before_rename")
        self._unfinished.rename(self._path)
        sync(self._path.parent)
        pass_test_point("blob_after_rename")
        return self._path.name

    def drop(self) -> None:
        with contextlib.suppress(OSError):  # its unwritten bytes are not needed
            self._file.close()
        self._unfinished.unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Remove the unfinished files of dead processes in all folders of blobs below `folder`, which
    must be on a local disk."""
    for path in folder.glob(f"*/*/*{UNFINISHED}"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
