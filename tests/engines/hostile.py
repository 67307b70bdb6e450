"""A program that tries to get at its machine, and says what it got.

python hostile.py MISDEED [WORD...]
"""

import contextlib
import ctypes
import errno
import mmap
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

CHUNK = b"x" * 2**20
MOST_MIB = 1024
"""What an attack takes before it gives up, so that it does no harm where nobody stops it."""
HOLDING_SECONDS = 20
CLOSE_RANGE, CLOSE_RANGE_UNSHARE = 436, 2
libc = ctypes.CDLL(None, use_errno=True)


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
    libc.shmat.restype = ctypes.c_void_p
    while True:
        number = libc.shmget(0, ctypes.c_size_t(2**24), 0o600)
        place = libc.shmat(number, None, 0)
        ctypes.memset(place, 120, 2**24)
        libc.shmdt(ctypes.c_void_p(place))


def hold() -> None:
    """Keep what was taken, to show that nobody minds."""
    print("holds it", flush=True)
    time.sleep(HOLDING_SECONDS)


def passed_memory() -> None:
    """Files in memory that are only in a socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    for _ in range(MOST_MIB // 8):
        file = os.memfd_create("passed")
        for _ in range(8):
            os.write(file, CHUNK)
        socket.send_fds(ours, [b"x"], [file])
        os.close(file)
    hold()
    theirs.close()


def descriptors() -> None:
    """Descriptors from one process to another, all the time and rightly so."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    if os.fork() == 0:
        for _ in range(200):
            socket.send_fds(ours, [b"x"], [0])
            time.sleep(0.01)
        os._exit(0)
    for _ in range(200):
        _, received, _, _ = socket.recv_fds(theirs, 1, 1)
        os.close(received[0])
    print("received 200")


def passed_files(folder: str) -> None:
    """Deleted files on the disk that are only in a socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    for _ in range(MOST_MIB // 16):
        path = Path(folder, "passed")
        with path.open("wb", buffering=0) as file:
            for _ in range(16):
                file.write(CHUNK)
            path.unlink()
            socket.send_fds(ours, [b"x"], [file.fileno()])
    hold()
    theirs.close()


def buffers() -> None:
    """What is written to sockets and never read, in as many processes as it takes."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print("descriptors", most, flush=True)
    taken, pairs = 0, list[tuple[socket.socket, socket.socket]]()
    while taken < MOST_MIB * 2**20:
        try:
            pairs.append(socket.socketpair())
        except OSError:
            if os.fork():
                hold()
            pairs.clear()
            continue
        for each in pairs[-1]:
            each.setblocking(False)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**22)
            with contextlib.suppress(OSError):
                while True:
                    taken += each.send(CHUNK)
    hold()


def datagrams() -> None:
    """The same with messages whose senders are gone."""
    path, taken = "\0datagrams", 0
    receivers: list[socket.socket] = []
    while taken < MOST_MIB * 2**20:
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        receiver.bind(f"{path}{len(receivers)}")
        receivers.append(receiver)
        with contextlib.suppress(OSError):
            while True:
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                    sender.setblocking(False)
                    taken += sender.sendto(CHUNK[: 200 * 1024], receiver.getsockname())
    hold()


def page_tables() -> None:
    """Read a byte here and there of memory that nobody has written, so that only the tables of the
    kernel grow."""
    libc.mmap.restype = ctypes.c_void_p
    size = MOST_MIB * 2**20 // 4096 * 2**21
    private, reserve_none = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 0x4000
    place = libc.mmap(
        None, ctypes.c_size_t(size), mmap.PROT_READ, private | reserve_none, -1, ctypes.c_long(0)
    )
    libc.madvise(ctypes.c_void_p(place), ctypes.c_size_t(size), 15)  # no huge pages
    for offset in range(0, size, 2**21):
        ctypes.c_char.from_address(place + offset).value  # noqa: B018 - reading is the attack
    hold()


def empty_files() -> None:
    """Files without content."""
    for number in range(MOST_MIB * 1024):
        with contextlib.suppress(OSError):
            os.close(os.open(f"/tmp/{number}", os.O_CREAT))
    hold()


def headless() -> None:
    """Memory of a process whose first thread has ended."""

    def take() -> None:
        time.sleep(0.2)
        held = [mmap.mmap(-1, 2**24) for _ in range(MOST_MIB // 16)]
        for block in held:
            block.write(CHUNK * 16)
        hold()
        os._exit(0)

    threading.Thread(target=take).start()
    libc.pthread_exit(None)


def own_table() -> None:
    """Files in memory in the table of a thread that has its descriptors for itself."""

    def take() -> None:
        libc.syscall(CLOSE_RANGE, 1000, 1000, CLOSE_RANGE_UNSHARE)
        for _ in range(MOST_MIB // 8):
            file = os.memfd_create("aside")
            for _ in range(8):
                os.write(file, CHUNK)
        hold()

    taking = threading.Thread(target=take)
    taking.start()
    taking.join()


def messages() -> None:
    """Queues of messages that no process holds."""
    text = ctypes.create_string_buffer(b"\1" + b"\0" * 16_000)
    for _ in range(MOST_MIB * 64):
        number = libc.msgget(0, 0o600)
        if number < 0:
            print("refused", ctypes.get_errno(), flush=True)
            return
        libc.msgsnd(number, text, ctypes.c_size_t(8000), 0o4000)
        libc.msgsnd(number, text, ctypes.c_size_t(8000), 0o4000)
    hold()


def calls(clone: str, *numbers: str) -> None:
    """Call what no engine needs, and say what is there."""
    for number in map(int, numbers):
        libc.syscall(number, 0, 0, 0, 0, 0)
        if ctypes.get_errno() != errno.ENOSYS:
            print(number, os.strerror(ctypes.get_errno()))
    # A new user namespace, and a thread with files for itself.
    for flags in (0x10000000 | signal.SIGCHLD, 0x00010000 | 0x900):
        libc.syscall(int(clone), flags, 0, 0, 0, 0)
        if ctypes.get_errno() != errno.EPERM:
            print("clone", hex(flags), os.strerror(ctypes.get_errno()))


def families() -> None:
    """Open sockets of every kind, and say which there are; and call the machine behind this one."""
    for family in range(64):
        for protocol in (0, 2, 6, 17, 132, 262):
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
                with contextlib.suppress(OSError), socket.socket(family, kind, protocol):
                    print(family, protocol)
    try:
        with socket.socket(40, socket.SOCK_STREAM) as caller:
            caller.connect((2, 1024))
    except OSError as error:
        print("vsock:", error.strerror)


def forks(_mark: str) -> None:
    """By the mark they are found: without end, deaf to every signal that can be."""
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        signal.signal(number, signal.SIG_IGN)
    while True:
        with contextlib.suppress(OSError):
            os.fork()


def sessions(_mark: str) -> None:
    """Each in a session of its own, which the kernel gives as much time as any other."""
    while True:
        with contextlib.suppress(OSError):
            if os.fork() == 0:
                os.setsid()


def children(_mark: str) -> None:
    """Nothing bad: one child after the other, for a second or two."""
    for _ in range(200):
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        time.sleep(0.01)
    print("all born")


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
        *(
            passed_memory,
            descriptors,
            passed_files,
            buffers,
            datagrams,
            page_tables,
            empty_files,
            headless,
            own_table,
        ),
        *(messages, calls, families, forks, sessions, children, escape, first),
    )
}

if __name__ == "__main__":
    MISDEEDS[sys.argv[1]](*sys.argv[2:])
