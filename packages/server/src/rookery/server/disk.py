"""The free space on the disks of database and files; each change of the state is logged once.

    enough --less than the reserve--> low --nothing to write with, or a write failed--> full

Low: uploads are refused, because the remaining space is reserved for the database. Full: any write
of the database may fail. Both states end when there is space again. A disk with nothing but files
is at most low, since everything except uploads continues. The free space of an external database is
unknown: it counts as full when one of its writes fails, until commits succeed again.
"""

import enum
import errno
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.server.boundary.domains import Domain, runs
from rookery.server.logs import Log, SilentLog

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors that mean a full disk."""


class DiskNearlyFull(Exception):
    """The disk is nearly full: what is left is reserved for the database."""


class StorageAway(Exception):
    """The storage of files can't be used at the moment; the text says why."""


MB = 10**6
LEAST_FREE = 32 * MB
"""The least free space that PostgreSQL needs: it extends its log by 16 MB at a time, and stops if
it can't."""
FAILED_SECONDS = 10.0
"""How long a failed write counts as a full disk, for an external database, whose disk can't be
measured."""
SETTLED_SECONDS = 2.0
"""How long after the last failed write the disk counts as full although commits succeed: on a full
disk small ones still do at times."""
NO_SPACE_MESSAGES = ("No space left on device", "DiskFullError", "Disk quota exceeded")


class DiskSpace(enum.Enum):
    """The states of free space."""

    ENOUGH = "enough"
    LOW = "low"
    FULL = "full"


_ORDER = tuple(DiskSpace)


def unlimited(_path: Path) -> int:
    """A measure of free space for a site that stores nothing on a disk."""
    return 2**62


def free_bytes(folder: Path) -> int:
    """The free bytes on the disk of a folder, which need not exist yet. Blocks."""
    while not folder.exists():
        folder = folder.parent
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


@dataclass(frozen=True, slots=True)
class WatchedFolder:
    """A folder whose disk is measured."""

    path: Path
    holds_database: bool = True


class Disk:
    """The state of the disks. One per process; only the event loop writes to it."""

    def __init__(
        self,
        folders: Sequence[WatchedFolder],
        threads: Threads,
        clock: Clock,
        log: Log | None = None,
        *,
        reserve: int = 0,
        free: Callable[[Path], int] = unlimited,
    ) -> None:
        self._folders = folders
        self._threads = threads
        self._clock = clock
        self._log = log or SilentLog()
        self._reserve = reserve
        self._measure = free
        self._tightest = folders[0]
        self._free = unlimited(self._tightest.path)
        self._failed = float("-inf")
        self._has_written = False
        self.space = DiskSpace.ENOUGH

    @property
    def free(self) -> int:
        """The free bytes on the tightest disk, as last measured."""
        return self._free

    @property
    def reserve(self) -> int:
        """The free bytes below which uploads are refused."""
        return self._reserve

    @runs(Domain.THREAD, "asks the file system in a thread")
    async def measure(self) -> None:
        """Measures the free space and updates the state."""
        was_full = self._judge(self._tightest, self._free) is DiskSpace.FULL
        self._tightest, self._free = await self._threads.io(self._find_tightest)
        if was_full and self._judge(self._tightest, self._free) is not DiskSpace.FULL:
            self._failed = float("-inf")  # the measured space explains the failed writes
        self._update_state()

    def _find_tightest(self) -> tuple[WatchedFolder, int]:
        """The disk in the worst state, and among these the one with the least space; blocks."""
        found = [(each, self._measure(each.path)) for each in self._folders]
        return max(found, key=lambda one: (_ORDER.index(self._judge(*one)), -one[1]))

    def _judge(self, folder: WatchedFolder, free: int) -> DiskSpace:
        if folder.holds_database and free < min(LEAST_FREE, self._reserve):
            return DiskSpace.FULL
        return DiskSpace.LOW if free < self._reserve else DiskSpace.ENOUGH

    def note_error(self, error: BaseException) -> bool:
        """Returns whether an error means a full disk, and if so sets the state for a while."""
        if isinstance(error, OSError) and error.errno in NO_SPACE:
            return self.note_message(NO_SPACE_MESSAGES[0])
        return isinstance(error, DiskNearlyFull) or self.note_message(repr(error))

    def note_message(self, message: str) -> bool:
        """Like `note_error`, for a log message of PostgreSQL."""
        if not any(each in message for each in NO_SPACE_MESSAGES):
            return False
        self._failed = self._clock.seconds()
        self._has_written = False
        self._update_state()
        return True

    def begin(self, sequence: int) -> None:
        """Does nothing: a new term of the primary says nothing about the disk."""

    def add(self, sequence: int, runs: Iterable[str]) -> None:
        """Notes a successful commit: there is space again, unless another one fails."""
        self._has_written = True

    def describe_trouble(self) -> str:
        """A sentence for pages and health probes; empty while there is enough space."""
        if self.space is DiskSpace.ENOUGH:
            return ""
        if self.space is DiskSpace.LOW:
            whose = "the disk" if self._tightest.holds_database else "the disk of the files"
            left = f"{self._free // MB} MB are left of {self._reserve // MB} MB in reserve"
            return f"{whose} is nearly full: {left}, uploads are refused"
        if self._judge(self._tightest, self._free) is DiskSpace.FULL:
            return f"disk full: {self._free // MB} MB are left"
        return "disk full: a write found no space"

    def _update_state(self) -> None:
        counts_for = SETTLED_SECONDS if self._has_written else FAILED_SECONDS
        failed = self._clock.seconds() - self._failed < counts_for
        space = DiskSpace.FULL if failed else self._judge(self._tightest, self._free)
        before, self.space = self.space, space
        if space is before:
            return
        fields = {"path": str(self._tightest.path), "free_mb": self._free // MB}
        if space is DiskSpace.FULL:
            self._log.error("disk_full", **fields)
        elif space is DiskSpace.LOW:
            self._log.warning("disk_low", **fields, reserve_mb=self._reserve // MB)
        else:
            self._log.info("disk_has_room", **fields)
