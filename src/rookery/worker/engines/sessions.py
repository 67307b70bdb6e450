"""Finds and ends what a program left running, where no namespace does it."""

import contextlib
import os
import signal
from pathlib import Path

ROUNDS = 200
"""A bomb makes new processes while it is put out; it loses in the end."""


def members(session: int, processes: Path = Path("/proc")) -> list[int]:
    """The processes of a session; none where the system does not tell."""
    found = []
    for folder in processes.glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name in parentheses may hold anything, spaces too.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(folder.name))
    return found


def end(session: int) -> None:
    """Stop them all first, so that they make no more, then end them."""
    for _ in range(ROUNDS):
        left = members(session)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        if not left:
            return
