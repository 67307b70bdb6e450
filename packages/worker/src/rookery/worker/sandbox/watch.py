"""Watches the resources of a sandbox from inside, in its first process, whose end is the end of
all.

A program can take more than its processes have in use: shared memory remains when its writer ends,
files in memory need not be mapped, a deleted file keeps its disk space while it is open, and the
kernel holds what was written to a socket and not read.
"""

import contextlib
import os
import signal
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import monotonic

from rookery.worker.sandbox.control_groups import has_run_out_of_memory
from rookery.worker.sandbox.enclosure import MEBIBYTE, Enclosure
from rookery.worker.sandbox.whole_machine import IN_SOCKETS, find_loss, measure_reserves

CLOSE_SECONDS = 0.05
"""The interval between measurements of a program that uses at least half of a limit."""
ENDED_BY_US = 125
HIDDEN_SECONDS = 2.5
"""How long a process may be hidden. One that is ending is for a moment."""
IN_FLIGHT = "descriptors in flight"
IN_FLIGHT_SECONDS = 1.0
"""How long there may be descriptors that were sent and not received."""
OWN_MEMORY = (b"RssAnon:", b"RssFile:", b"VmPTE:")
BLOCK_BYTES = 512
OWN_PLACES = ("/tmp", "/dev/shm", "/home/engine")  # noqa: S108 - in a namespace of our own
INODE_BYTES = 1024
SEGMENTS = "/proc/sysvipc/shm"
SOCKETS = "/proc/self/net/unix"
INTERNET_SOCKETS = tuple(f"/proc/self/net/{name}" for name in ("tcp", "tcp6", "udp", "udp6"))
MESSAGES = b"0002"
MESSAGES_WAITING = 11
"""How many senders' buffers a socket for messages keeps: ten that wait, and its own."""
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
    """Processes that can't be examined."""
    in_flight: int = 0
    """Descriptors sent to a socket and not received. What they hold open is hidden."""

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


class Unseen:
    """What can't be measured, and for how long."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def note(self, taken: ResourceUse, now: float) -> None:
        """Note what a measurement did not see."""
        names = taken.hidden | ({IN_FLIGHT} if taken.in_flight else set())
        self._since = {name: self._since.get(name, now) for name in names}

    def excess(self, now: float) -> str:
        """Return what was unseen for too long, in words; empty if nothing was."""
        for name, since in self._since.items():
            if name == IN_FLIGHT and now - since > IN_FLIGHT_SECONDS:
                return IN_SOCKETS
            if name != IN_FLIGHT and now - since > HIDDEN_SECONDS:
                return "it took what it does not show"
        return ""


def watch_until_end(program: int, enclosure: Enclosure) -> int:
    """Watch until the program ends. Returns its exit code, 128 and more for a signal."""
    seconds, unseen = enclosure.watch_seconds, Unseen()
    reserves = measure_reserves(enclosure)
    while True:
        signal.sigtimedwait({signal.SIGCHLD}, seconds)
        code = _reaped(program)
        if enclosure.group_files and has_run_out_of_memory(enclosure.group_files[1]):
            return _ended_by_us(f"it took more than {enclosure.memory_mib} MiB of memory")
        if code is not None:
            return code
        taken, now = measure_use(enclosure), monotonic()
        if enclosure.memory_mib or enclosure.deleted_mib:
            unseen.note(taken, now)
        left, hides = measure_reserves(enclosure), taken.in_flight > 0
        lost = find_loss(enclosure, reserves, left, hides=hides)
        if why := find_excess(enclosure, taken) or unseen.excess(now) or lost:
            return _ended_by_us(why)
        seconds = CLOSE_SECONDS if _is_close(enclosure, taken) else enclosure.watch_seconds


def _ended_by_us(why: str) -> int:
    os.write(2, f"rookery: ended, because {why}\n".encode())
    return ENDED_BY_US


def _is_close(enclosure: Enclosure, taken: ResourceUse) -> bool:
    """Whether a limit may soon be exceeded."""
    much = 2 * taken.memory_mib > enclosure.memory_mib > 0
    return much or bool(taken.in_flight) or 2 * taken.processes > enclosure.processes


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
    """Return the resources used by all processes of this namespace."""
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
    taken.memory += _socket_bytes(enclosure.socket_kib * 1024)
    return taken


def measure_processes(numbers: Iterable[str], folder: str = "/proc") -> ResourceUse:
    """Return the resources used by these processes. Each file and each piece of shared memory
    counts once."""
    taken = ResourceUse()
    for number in numbers:
        taken.processes += 1
        try:
            _add_process(f"{folder}/{number}", taken)
        except PermissionError:
            if not _has_ended(f"{folder}/{number}/status"):
                taken.hidden.add(number)
        except OSError:
            continue  # it has ended meanwhile
    return taken


def find_excess(enclosure: Enclosure, taken: ResourceUse) -> str:
    """Return the limit that is exceeded, in words; empty if there is none."""
    if taken.processes > enclosure.processes:
        return f"it took more than {enclosure.processes} processes"
    if taken.memory_mib > enclosure.memory_mib > 0:
        return f"it took more than {enclosure.memory_mib} MiB of memory"
    if taken.deleted_mib > enclosure.deleted_mib > 0:
        return f"it took more than {enclosure.deleted_mib / 1024:.1f} GiB of disk in deleted files"
    return ""


def _add_process(process: str, taken: ResourceUse) -> None:
    own = _own_bytes(f"{process}/status")
    if own is None:
        # Its first thread has ended, and nothing is seen by that one any more.
        process = _living_thread(process)
        own = _own_bytes(f"{process}/status")
    taken.memory += own or 0
    _add_open_files(process, taken)
    _add_mapped_files(f"{process}/maps", taken)


def _living_thread(process: str) -> str:
    for name in os.listdir(f"{process}/task"):  # noqa: PTH208 - often
        with contextlib.suppress(OSError):
            if _own_bytes(f"{process}/task/{name}/status") is not None:
                return f"{process}/task/{name}"
    raise ProcessLookupError


def _own_bytes(path: str) -> int | None:
    """Return the bytes that a process uses and does not share, and those of its page tables; None
    if it has no memory any more."""
    found = [int(line.split()[1]) for line in _lines(path) if line.startswith(OWN_MEMORY)]
    return sum(found) * 1024 if found else None


def _add_open_files(process: str, taken: ResourceUse) -> None:
    folder = f"{process}/fd"
    for name in os.listdir(folder):  # noqa: PTH208 - often
        with contextlib.suppress(FileNotFoundError):
            link = os.readlink(f"{folder}/{name}")  # noqa: PTH115 - often
            if link.startswith("socket:"):
                taken.in_flight += _in_flight(f"{process}/fdinfo/{name}")
            if link.endswith(DELETED):
                found = os.stat(f"{folder}/{name}")  # noqa: PTH116 - often
                if stat.S_ISREG(found.st_mode):
                    size = found.st_blocks * BLOCK_BYTES
                    _add(taken, link, (found.st_dev, found.st_ino), size)


def _in_flight(path: str) -> int:
    """Return the descriptors that a socket has received and its owner has not taken."""
    found = (line.split()[1] for line in _lines(path) if line.startswith(b"scm_fds:"))
    return sum(map(int, found))


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


def _socket_bytes(buffer: int) -> int:
    """Return the most that the sockets of this namespace can hold. The kernel tells how much only
    for those of networks."""
    total = 0
    with contextlib.suppress(OSError):
        for line in list(_lines(SOCKETS))[1:]:
            waiting = MESSAGES_WAITING if line.split()[4] == MESSAGES else 1
            total += 2 * waiting * buffer
    for path in INTERNET_SOCKETS:
        with contextlib.suppress(OSError):
            for line in list(_lines(path))[1:]:
                total += 2 * sum(int(each, 16) for each in line.split()[4].split(b":"))
    return total


def _has_ended(path: str) -> bool:
    """Whether a process has ended, even if it was not reaped yet."""
    try:
        return any(line.startswith((b"State:\tZ", b"State:\tX")) for line in _lines(path))
    except OSError:
        return True


def _size_of_place(path: str) -> int:
    found = os.statvfs(path)
    files = found.f_files - found.f_ffree
    return (found.f_blocks - found.f_bfree) * found.f_frsize + files * INODE_BYTES


def _lines(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:  # noqa: PTH123 - often
        for line in file:
            yield line.rstrip(b"\n")
