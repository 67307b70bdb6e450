"""The processes of a test's own, found by a mark that no other test has, such as its folder.

Other tests run at the same time on the same machine: a mark must be the test's alone.
"""

import os
import time
from collections.abc import Collection
from pathlib import Path

LIMIT_SECONDS = 60.0
PLACES = ("cmdline", "cwd")


def processes_of(mark: Path | str, within: Collection[str] = PLACES) -> dict[int, str]:
    """Every other process that has the mark in one of these files of its own, with its words."""
    return {
        pid: command_line_of(pid)
        for pid in pids()
        if pid != os.getpid() and any(str(mark) in _said(pid, place) for place in within)
    }


def remaining_processes(mark: Path | str, within: Collection[str] = PLACES) -> dict[int, str]:
    """Those that are still there after a while: one that was killed takes a moment to go."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while (left := processes_of(mark, within)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def command_line_of(pid: int) -> str:
    return _said(pid, "cmdline").replace("\0", " ")


def parent_of(pid: int) -> int:
    """Zero when it is gone."""
    after_name = _said(pid, "stat").rpartition(")")[2].split()
    return int(after_name[1]) if after_name else 0


def state_of(pid: int) -> str:
    """One letter, such as T when it was stopped; nothing when it is gone."""
    return _said(pid, "stat").rpartition(")")[2].strip()[:1]


def _said(pid: int, place: str) -> str:
    path = Path("/proc", str(pid), place)
    try:
        return (
            str(path.readlink()) if place == "cwd" else path.read_bytes().decode(errors="replace")
        )
    except OSError:
        return ""
