"""The disk below the data folder: whether there is room, told once when that changes.

    enough --less than the reserve--> low --nothing to write with, or a write failed--> full

Low: uploads are refused, because what is left belongs to the database. Full: the database may fail
at any write. Either ends by itself when there is room again.
"""

import enum
import errno
import os
from collections.abc import Callable
from pathlib import Path

from rookery.boundary.domains import Domain, runs
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.files.blobs import DiskNearlyFull
from rookery.logs import Log, SilentLog

MB = 10**6
LEAST = 32 * MB
"""PostgreSQL takes its log in portions of 16 MB, and stops where it can't have the next."""
FAILED_SECONDS = 30.0
"""For so long a failed write counts: the disk of an external database can't be looked at."""
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
WORDS = ("No space left on device", "DiskFullError", "Disk quota exceeded")


class Room(enum.Enum):
    """How much room there is."""

    ENOUGH = "enough"
    LOW = "low"
    FULL = "full"


def plenty(_path: Path) -> int:
    """Where nothing is kept on a disk."""
    return 2**62


def free_bytes(folder: Path) -> int:
    """What may still be written on the disk of a folder, which need not be there yet; it blocks."""
    while not folder.exists():
        folder = folder.parent
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


class Disk:
    """One per process; the event loop alone writes here."""

    def __init__(
        self,
        path: Path,
        threads: Threads,
        clock: Clock,
        log: Log | None = None,
        *,
        reserve: int = 0,
        free: Callable[[Path], int] = plenty,
    ) -> None:
        self._path = path
        self._threads = threads
        self._clock = clock
        self._log = log or SilentLog()
        self._reserve = reserve
        self._measure = free
        self._free = plenty(path)
        self._failed = float("-inf")
        self.room = Room.ENOUGH

    @runs(Domain.THREAD, "asks the file system in a thread")
    async def look(self) -> None:
        """Measures what is free."""
        self._free = await self._threads.io(self._measure, self._path)
        self._judge()

    def note(self, error: BaseException) -> bool:
        """Whether an error means that there is no room; if so, it is remembered for a while."""
        if isinstance(error, OSError) and error.errno in NO_SPACE:
            return self.note_words(WORDS[0])
        return isinstance(error, DiskNearlyFull) or self.note_words(repr(error))

    def note_words(self, words: str) -> bool:
        """The same for what PostgreSQL said."""
        if not any(each in words for each in WORDS):
            return False
        self._failed = self._clock.seconds()
        self._judge()
        return True

    def trouble(self) -> str:
        """What people and probes are told; empty while there is enough."""
        if self.room is Room.ENOUGH:
            return ""
        if self.room is Room.LOW:
            left = f"{self._free // MB} MB are left of {self._reserve // MB} MB in reserve"
            return f"the disk is nearly full: {left}, uploads are refused"
        return f"disk full: {self._free // MB} MB are left"

    def _judge(self) -> None:
        failed = self._clock.seconds() - self._failed < FAILED_SECONDS
        if failed or self._free < min(LEAST, self._reserve):
            room = Room.FULL
        else:
            room = Room.LOW if self._free < self._reserve else Room.ENOUGH
        before, self.room = self.room, room
        if room is before:
            return
        fields = {"path": str(self._path), "free_mb": self._free // MB}
        if room is Room.FULL:
            self._log.error("disk_full", **fields)
        elif room is Room.LOW:
            self._log.warning("disk_low", **fields, reserve_mb=self._reserve // MB)
        else:
            self._log.info("disk_has_room", **fields)
