"""A program that tries to get at its machine, and says what it got.

python hostile.py MISDEED [WORD...]
"""

import contextlib
import ctypes
import mmap
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

CHUNK = b"x" * 2**20


def environment() -> None:
    """Its own, and that of every process it can find."""
    print(dict(os.environ))
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            print(path, path.read_bytes())


def files(*paths: str) -> None:
    """Read those that it knows of, and whatever lies about."""
    for path in (*map(Path, paths), *_lying_about()):
        with contextlib.suppress(OSError):
            print(path, path.read_bytes()[:1000])


def _lying_about() -> Iterator[Path]:
    for top in ("/home", "/etc", "/tmp", "/run", "/srv", "/mnt", "/media", "/var"):
        for folder, _, names in os.walk(top):
            yield from (Path(folder, name) for name in names)


def sockets(port: str, path: str) -> None:
    """To a neighbour by network, by a file and by an abstract name."""
    places: tuple[tuple[int, tuple[str, int] | str], ...] = (
        (socket.AF_INET, ("127.0.0.1", int(port))),
        (socket.AF_UNIX, path),
        (socket.AF_UNIX, f"\0{path}"),
    )
    for family, place in places:
        with contextlib.suppress(OSError), socket.socket(family) as caller:
            caller.settimeout(2)
            caller.connect(place)
            print("reached", place)


def disk() -> None:
    """Write wherever it may, until it may no more."""
    for folder in (".", "/tmp", "/dev/shm", "/var/tmp", "/", "/usr"):
        written = 0
        with contextlib.suppress(OSError), Path(folder, "filling").open("wb", buffering=0) as file:
            while written < 300:
                written += file.write(CHUNK) // len(CHUNK)
        print(folder, written)


def memory() -> None:
    """Shared memory too, which no limit of a process counts."""
    held = []
    while True:
        block = mmap.mmap(-1, 2**24)
        block.write(CHUNK * 16)
        held.append(block)


def memfd() -> None:
    """Files in memory that nobody maps."""
    held = []
    while True:
        file = os.memfd_create("held")
        for _ in range(32):
            os.write(file, CHUNK)
        held.append(file)


def left_behind() -> None:
    """Shared memory that a child fills and leaves to a parent who never looks at it."""
    held = []
    while True:
        block = mmap.mmap(-1, 2**24)
        held.append(block)
        if os.fork() == 0:
            block.write(CHUNK * 16)
            os._exit(0)
        os.wait()


def segments() -> None:
    """Shared memory of the old kind, filled, let go of and never removed."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    while True:
        number = libc.shmget(0, ctypes.c_size_t(2**24), 0o600)
        place = libc.shmat(number, None, 0)
        ctypes.memset(place, 120, 2**24)
        libc.shmdt(ctypes.c_void_p(place))


def forks(_mark: str) -> None:
    """By the mark they are found: without end, deaf to every signal that can be."""
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        signal.signal(number, signal.SIG_IGN)
    while True:
        with contextlib.suppress(OSError):
            os.fork()


def escape(_mark: str) -> None:
    """A grandchild in a session of its own, which holds the pipes; then it plays dead."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(3600)
        os._exit(0)
    print("escaped", flush=True)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(3600)


def first() -> None:
    """Do away with the one who watches."""
    with contextlib.suppress(OSError):
        os.kill(1, signal.SIGKILL)
    with contextlib.suppress(OSError):
        Path("/proc/1/mem").open("r+b").close()
        print("opened")
    print("alive", os.getppid())


MISDEEDS = {
    each.__name__: each
    for each in (
        *(environment, files, sockets, disk, memory, memfd, left_behind, segments),
        *(forks, escape, first),
    )
}

if __name__ == "__main__":
    MISDEEDS[sys.argv[1]](*sys.argv[2:])
