"""How many games this machine can play at a time, and the small expressions that say it."""

import os
import re
from pathlib import Path

from rookery.core.complaint import Complaint

PROCESSORS = Path("/sys/devices/system/cpu")
QUOTA = Path("/sys/fs/cgroup/cpu.max")
_EXPRESSION = re.compile(r"(MAX|PHYS|\d{1,5})(?:([-/*])(\d{1,4}))?", re.ASCII)


class BadConcurrency(Complaint):
    """A number of games at a time that makes no sense."""

    exit_code = 2

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is no number of games: write 4, MAX, PHYS-1 or MAX/2.")


def usable_processors(quota: Path = QUOTA) -> int:
    """What affinity and the container's quota leave."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        allowed, period = quota.read_text().split()
    except (OSError, ValueError):
        return count
    return count if allowed == "max" else max(1, min(count, int(allowed) // int(period)))


def physical_cores(folder: Path = PROCESSORS) -> int:
    """Cores that share no silicon with one another; as many as processors where nobody knows."""
    siblings = {path.read_text() for path in folder.glob("cpu[0-9]*/topology/thread_siblings_list")}
    usable = usable_processors()
    return min(len(siblings), usable) or usable


def default_concurrency(threads: int) -> int:
    """All physical cores but one, which the runner and the rest of the system have."""
    return max(1, (physical_cores() - 1) // threads)


def read_concurrency(text: str) -> int:
    """A number, or an expression of MAX (processors) and PHYS (cores); raises BadConcurrency."""
    found = _EXPRESSION.fullmatch(text.strip().upper())
    if not found:
        raise BadConcurrency(text)
    word, sign, number = found.groups()
    value = {"MAX": usable_processors, "PHYS": physical_cores}.get(word, lambda: int(word))()
    if sign:
        by = int(number)
        value = {"-": value - by, "*": value * by, "/": value // max(by, 1)}[sign]
    if not 1 <= value <= 4096:
        raise BadConcurrency(text)
    return value
