"""Watches a sandbox from within, by its first process, whose end is the end of all."""

import contextlib
import os
import signal

from rookery.worker.engines.sandbox.enclosure import MEBIBYTE, Enclosure

PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / MEBIBYTE
ENDED_BY_US = 125


def until_end(program: int, enclosure: Enclosure) -> int:
    """The program's exit code, 128 and more for a signal."""
    while True:
        signal.sigtimedwait({signal.SIGCHLD}, enclosure.watch_seconds)
        code = _reaped(program)
        if code is not None:
            return code
        if why := excess(enclosure):
            os.write(2, f"rookery: ended, because it took {why}\n".encode())
            return ENDED_BY_US


def _reaped(program: int) -> int | None:
    """Also orphans of the program are children of the first process."""
    found: int | None = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == program:
                code = os.waitstatus_to_exitcode(ended[1])
                found = code if code >= 0 else 128 - code
    return found


def excess(enclosure: Enclosure, folder: str = "/proc") -> str:
    """What there is too much of, in all the processes of this namespace together."""
    numbers = [name for name in os.listdir(folder) if name.isdigit()]  # noqa: PTH208 - many times a minute
    if len(numbers) > enclosure.processes:
        return f"more than {enclosure.processes} processes"
    limit = enclosure.memory_mib
    if limit and sum(_resident_mib(f"{folder}/{number}/statm") for number in numbers) > limit:
        return f"more than {limit} MiB of memory"
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
