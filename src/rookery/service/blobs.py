"""Blobs: games, logs and other files too large for rows, kept under keys that mean nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol


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
