"""What the whole machine has left while a sandbox runs. Not all that a program takes can be seen in
its processes, but the machine lacks it."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from rookery.worker.sandbox.enclosure import MEBIBYTE, Enclosure

MEMORY = "/proc/meminfo"
IN_SOCKETS = "it keeps files in sockets, where they can't be measured"
ABUNDANCE = 2**40
"""What is taken for the size of something that can't be measured."""


@dataclass(frozen=True, slots=True)
class Reserves:
    """The memory and disk that a machine has left, in MiB."""

    memory: float
    disk: float


def measure_reserves(enclosure: Enclosure) -> Reserves:
    """Return what is left now, on the disk that the program may write to."""
    memory = next(_memory_left(), ABUNDANCE)
    disk = min(map(_disk_left, enclosure.writable), default=ABUNDANCE)
    return Reserves(memory, disk)


def find_loss(enclosure: Enclosure, first: Reserves, now: Reserves, *, hides: bool) -> str:
    """Return what the machine lost since the start, in words, if it is more than the program's
    share and little is left. Of a program that hides something at that time, no more proof is
    needed."""
    share, least = enclosure.memory_mib, enclosure.least_free_mib
    if first.memory - now.memory > share > 0 and (hides or now.memory < least):
        return IN_SOCKETS if hides else _sentence(share, "memory")
    share = least = enclosure.deleted_mib
    if first.disk - now.disk > share > 0 and (hides or now.disk < least):
        return IN_SOCKETS if hides else _sentence(share, "disk")
    return ""


def _sentence(share: int, what: str) -> str:
    return f"this machine lost more than {share} MiB of {what} meanwhile"


def _memory_left() -> Iterator[float]:
    with contextlib.suppress(OSError), open(MEMORY, "rb") as file:  # noqa: PTH123 - often
        for line in file:
            if line.startswith(b"MemAvailable:"):
                yield int(line.split()[1]) / 1024


def _disk_left(path: str) -> float:
    try:
        found = os.statvfs(path)
    except OSError:
        return ABUNDANCE
    return found.f_bavail * found.f_frsize / MEBIBYTE
