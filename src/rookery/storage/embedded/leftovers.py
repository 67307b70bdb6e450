"""Processes of an earlier PostgreSQL on the same folder: found by their working folder, ended."""

import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from rookery.storage.embedded.problems import LeftoversRemain

PATIENCE_SECONDS = 1.0
LIMIT_SECONDS = 30.0
LOOK_AGAIN_SECONDS = 0.02


def end(places: Iterable[Path], pause: Callable[[float], None]) -> None:
    """Waits for the processes that work in one of the places to end by themselves, then kills them.

    A backend that outlives its postmaster could write into a cluster that a new one recovers.
    """
    folders = {(s.st_dev, s.st_ino): p for p in places if (s := _stat(p))}
    began = time.monotonic()
    while folders and (pids := _working_in(set(folders))):
        waited = time.monotonic() - began
        if waited > LIMIT_SECONDS:
            raise LeftoversRemain(path=next(iter(folders.values())), pids=pids)
        if waited > PATIENCE_SECONDS:
            for pid in pids:
                _kill(pid)
        pause(LOOK_AGAIN_SECONDS)


def _working_in(folders: set[tuple[int, int]]) -> list[int]:
    numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in numbers if _is_postgres(pid) and _folder_of(pid) in folders]


def _is_postgres(pid: int) -> bool:
    try:
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return name.strip() in ("postgres", "initdb")


def _folder_of(pid: int) -> tuple[int, int] | None:
    found = _stat(Path(f"/proc/{pid}/cwd"))
    return (found.st_dev, found.st_ino) if found else None


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
