"""Watches a sandbox from within, by its first process, whose end is the end of all."""

import contextlib
import os
import signal
from typing import NamedTuple

from rookery.worker.engines.sandbox.enclosure import MEBIBYTE, Enclosure

CLOSE_SECONDS = 0.05
"""Between two looks at one that has taken half of what it may."""
PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / MEBIBYTE
ENDED_BY_US = 125


class Taken(NamedTuple):
    """How much of the machine a program has."""

    processes: int
    memory_mib: float


def until_end(program: int, enclosure: Enclosure) -> int:
    """The program's exit code, 128 and more for a signal."""
    seconds = enclosure.watch_seconds
    while True:
        signal.sigtimedwait({signal.SIGCHLD}, seconds)
        code = _reaped(program)
        if code is not None:
            return code
        taken = look()
        if why := excess(enclosure, taken):
            os.write(2, f"rookery: ended, because it took {why}\n".encode())
            return ENDED_BY_US
        close = 2 * taken.memory_mib > enclosure.memory_mib > 0
        seconds = CLOSE_SECONDS if close else enclosure.watch_seconds


def _reaped(program: int) -> int | None:
    """Also orphans of the program are children of the first process."""
    found: int | None = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == program:
                code = os.waitstatus_to_exitcode(ended[1])
                found = code if code >= 0 else 128 - code
    return found


def look(folder: str = "/proc") -> Taken:
    """What all the processes of this namespace take together."""
    numbers = [name for name in os.listdir(folder) if name.isdigit()]  # noqa: PTH208 - often
    memory = sum(_resident_mib(f"{folder}/{number}/statm") for number in numbers)
    return Taken(len(numbers), memory)


def excess(enclosure: Enclosure, taken: Taken) -> str:
    """What there is too much of, if anything."""
    if taken.processes > enclosure.processes:
        return f"more than {enclosure.processes} processes"
    if taken.memory_mib > enclosure.memory_mib > 0:
        return f"more than {enclosure.memory_mib} MiB of memory"
    return ""


def _resident_mib(path: str) -> float:
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return 0.0
    try:
        return int(os.read(file, 200).split()[1]) * PAGE_MIB
    except (OSError, IndexError, ValueError):
        return 0.0
    finally:
        os.close(file)
