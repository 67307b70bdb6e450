"""Watches the resources of a sandbox from inside, in its first process, whose end is the end of
all.

A program can take more than its processes have in use: shared memory remains when its writer ends,
files in memory need not be mapped, and a deleted file keeps its disk space while it is open.
"""

import contextlib
import os
import signal
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rookery.worker.sandbox.enclosure import MEBIBYTE, Enclosure

CLOSE_SECONDS = 0.05
"""The interval between measurements of a program that uses at least half of a limit."""
ENDED_BY_US = 125
HIDDEN_LOOKS = 5
BLOCK_BYTES = 512
OWN_PLACES = ("/tmp", "/dev/shm", "/home/engine")  # noqa: S108 - in a namespace of our own
SEGMENTS = "/proc/sysvipc/shm"
IN_MEMORY = ("/memfd:", "/dev/zero", "/SYSV", "/dev/shm/", "/anon_hugepage")  # noqa: S108 - names
DELETED = " (deleted)"

File = tuple[int, int]
"""A file, as device and inode number."""


@dataclass(slots=True)
class ResourceUse:
    """The resources that a program uses."""

    processes: int = 0
    memory: int = 0
    """The bytes of memory that belong to one process each, and those of file systems in memory."""
    shared: dict[File, int] = field(default_factory=dict)
    """The bytes of memory that processes share or hold as a file, each counted once."""
    deleted: dict[File, int] = field(default_factory=dict)
    """The bytes of files on the disk that were deleted while open."""
    hidden: set[str] = field(default_factory=set)
    """Processes that can't be examined. One that is ending can't be for a moment."""

    @property
    def memory_mib(self) -> float:
        return (self.memory + sum(self.shared.values())) / MEBIBYTE

    @property
    def deleted_mib(self) -> float:
        return sum(self.deleted.values()) / MEBIBYTE

    def forget(self, device: int) -> None:
        """Remove files on a device that is counted as a whole."""
        for kept in (self.shared, self.deleted):
            for file in [each for each in kept if each[0] == device]:
                del kept[file]


def watch_until_end(program: int, enclosure: Enclosure) -> int:
    """Watch until the program ends. Returns its exit code, 128 and more for a signal."""
    seconds = enclosure.watch_seconds
    hidden: dict[str, int] = {}
    while True:
        signal.sigtimedwait({signal.SIGCHLD}, seconds)
        code = _reaped(program)
        if code is not None:
            return code
        taken = measure_use(enclosure)
        hidden = {number: hidden.get(number, 0) + 1 for number in taken.hidden}
        if why := find_excess(enclosure, taken, max(hidden.values(), default=0)):
            os.write(2, f"rookery: ended, because it took {why}\n".encode())
            return ENDED_BY_US
        close = 2 * taken.memory_mib > enclosure.memory_mib > 0
        seconds = CLOSE_SECONDS if close else enclosure.watch_seconds


def _reaped(program: int) -> int | None:
    """Reap all children. Orphans of the program are children of the first process too."""
    found: int | None = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == program:
                code = os.waitstatus_to_exitcode(ended[1])
                found = code if code >= 0 else 128 - code
    return found


def measure_use(enclosure: Enclosure, folder: str = "/proc") -> ResourceUse:
    """The resources used by all processes of this namespace."""
    names = os.listdir(folder)  # noqa: PTH208 - often
    numbers = [name for name in names if name.isdigit() and name != "1"]
    if len(numbers) > enclosure.processes:
        # Too many processes end the program; they need not be measured.
        return ResourceUse(len(numbers))
    taken = measure_processes(numbers, folder)
    for path in OWN_PLACES:
        with contextlib.suppress(OSError):
            taken.memory += _size_of_place(path)
            taken.forget(os.stat(path).st_dev)  # noqa: PTH116 - often
    taken.shared |= _segments()
    return taken


def measure_processes(numbers: Iterable[str], folder: str = "/proc") -> ResourceUse:
    """The resources used by these processes. Each file and each piece of shared memory counts
    once."""
    taken = ResourceUse()
    for number in numbers:
        taken.processes += 1
        process = f"{folder}/{number}"
        try:
            taken.memory += _own_bytes(f"{process}/status")
            _add_open_files(f"{process}/fd", taken)
            _add_mapped_files(f"{process}/maps", taken)
        except PermissionError:
            if not _has_ended(f"{process}/status"):
                taken.hidden.add(number)
        except OSError:
            continue  # it has ended meanwhile
    return taken


def find_excess(enclosure: Enclosure, taken: ResourceUse, hidden_looks: int = 0) -> str:
    """The limit that is exceeded, in words; empty if there is none. A process that can't be
    examined for long counts as exceeding one."""
    if taken.processes > enclosure.processes:
        return f"more than {enclosure.processes} processes"
    if taken.memory_mib > enclosure.memory_mib > 0:
        return f"more than {enclosure.memory_mib} MiB of memory"
    if taken.deleted_mib > enclosure.deleted_mib > 0:
        return f"more than {enclosure.deleted_mib / 1024:.1f} GiB of disk in deleted files"
    return "what it does not show" if hidden_looks >= HIDDEN_LOOKS and enclosure.memory_mib else ""


def _own_bytes(path: str) -> int:
    """The bytes that a process uses and does not share."""
    total = 0
    for line in _lines(path):
        if line.startswith((b"RssAnon:", b"RssFile:")):
            total += int(line.split()[1]) * 1024
    return total


def _add_open_files(folder: str, taken: ResourceUse) -> None:
    for name in os.listdir(folder):  # noqa: PTH208 - often
        with contextlib.suppress(FileNotFoundError):
            link = os.readlink(f"{folder}/{name}")  # noqa: PTH115 - often
            if link.endswith(DELETED):
                found = os.stat(f"{folder}/{name}")  # noqa: PTH116 - often
                if stat.S_ISREG(found.st_mode):
                    size = found.st_blocks * BLOCK_BYTES
                    _add(taken, link, (found.st_dev, found.st_ino), size)


def _add_mapped_files(path: str, taken: ResourceUse) -> None:
    """Add mapped files with their whole size, since the kernel does not tell how much of it is
    used."""
    for line in _lines(path):
        if not line.endswith(DELETED.encode()):
            continue
        places, _, offset, device, number, name = line.split(maxsplit=5)
        start, end = (int(each, 16) for each in places.split(b"-"))
        major, minor = (int(each, 16) for each in device.split(b":"))
        file = (os.makedev(major, minor), int(number))
        _add(taken, name.decode("utf-8", "replace"), file, int(offset, 16) + end - start)


def _add(taken: ResourceUse, name: str, file: File, size: int) -> None:
    kept = taken.shared if name.startswith(IN_MEMORY) else taken.deleted
    kept[file] = max(kept.get(file, 0), size)


def _segments() -> dict[File, int]:
    """System V shared memory, which remains without any process."""
    found: dict[File, int] = {}
    with contextlib.suppress(OSError, ValueError, IndexError):
        head, *lines = (line.split() for line in _lines(SEGMENTS))
        number, size = head.index(b"shmid"), head.index(b"rss")
        for line in lines:
            found[0, int(line[number])] = int(line[size])
    return found


def _has_ended(path: str) -> bool:
    """Whether a process has ended, even if it was not reaped yet."""
    try:
        return any(line.startswith((b"State:\tZ", b"State:\tX")) for line in _lines(path))
    except OSError:
        return True


def _size_of_place(path: str) -> int:
    found = os.statvfs(path)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def _lines(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:  # noqa: PTH123 - often
        for line in file:
            yield line.rstrip(b"\n")
