"""The data folder: made when missing, and locked so that one server at a time uses it."""

import fcntl
import os
import pwd
import time
from collections.abc import Callable
from pathlib import Path

from rookery.storage.embedded.problems import (
    EmbeddedProblem,
    FolderBusy,
    FolderNotAFolder,
    FolderNotCreatable,
    NoSpace,
    OtherOwner,
    folder_problem,
)

LOOK_AGAIN_SECONDS = 0.02


def account_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"number {uid}"


def make(data: Path) -> None:
    """Makes the folder for this account alone; one that exists keeps its mode."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        obstacle = next((p for p in (data, *data.parents) if p.is_file()), data)
        raise FolderNotAFolder(path=data, obstacle=obstacle) from None
    except OSError as error:
        problem = folder_problem(error, data)
        if isinstance(problem, NoSpace):
            raise problem from None
        raise FolderNotCreatable(path=data, reason=error.strerror) from None


def hold(
    data: Path, lock: Path, owner: int, *, patience: float, pause: Callable[[float], None]
) -> int:
    """Locks the folder for the process `owner` and gives the descriptor that holds the lock.

    Whoever holds the lock for a process that is alive is not waited for; the supervisor of a
    killed server is, because it is about to stop its database.
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


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead but not yet buried does not."""
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


def _owner_problem(data: Path) -> EmbeddedProblem | None:
    try:
        owner = data.stat().st_uid
    except OSError:
        return None
    if owner in (os.geteuid(), 0) or os.geteuid() == 0:
        return None
    return OtherOwner(path=data, owner=account_name(owner), account=account_name(os.geteuid()))


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> tuple[int, int]:
    """The owner and the supervisor that the lock was taken by; zeros while they write it."""
    numbers = [int(word) for word in os.pread(descriptor, 64, 0).split() if word.isdigit()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)
