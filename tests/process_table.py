"""Finds the processes of a test by a mark that no other test has, such as its folder.

Other tests run at the same time on the same machine, so the mark must be unique to the test.
"""

import os
import time
from collections.abc import Collection
from pathlib import Path

LIMIT_SECONDS = 60.0
PLACES = ("cmdline", "cwd")


def processes_of(mark: Path | str, within: Collection[str] = PLACES) -> dict[int, str]:
    """All other processes that have the mark in one of these files in /proc, with their command
    lines."""
    return {
        pid: command_line_of(pid)
        for pid in pids()
        if pid != os.getpid() and any(str(mark) in _said(pid, place) for place in within)
    }


def remaining_processes(mark: Path | str, within: Collection[str] = PLACES) -> dict[int, str]:
    """The processes that still exist after a while; a killed one takes a moment to disappear."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while (left := processes_of(mark, within)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def command_line_of(pid: int) -> str:
    return _said(pid, "cmdline").replace("\0", " ")


def parent_of(pid: int) -> int:
    """The parent of a process; zero if it is gone."""
    after_name = _said(pid, "stat").rpartition(")")[2].split()
    return int(after_name[1]) if after_name else 0


def state_of(pid: int) -> str:
    """The state of a process as a letter, such as T for suspended; empty if it is gone."""
    return _said(pid, "stat").rpartition(")")[2].strip()[:1]


def _said(pid: int, place: str) -> str:
    path = Path("/proc", str(pid), place)
    try:
        return (
            str(path.readlink()) if place == "cwd" else path.read_bytes().decode(errors="replace")
        )
    except OSError:
        return ""
