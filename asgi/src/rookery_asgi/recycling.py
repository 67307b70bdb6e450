"""When a worker has served long enough, or has grown too large."""

import os
import random
from dataclasses import dataclass
from pathlib import Path

from rookery_asgi.options import Options


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one worker may reach; 0 is no bound."""

    requests: int = 0
    age_seconds: float = 0.0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Vitals:
    """What it has reached."""

    requests: int
    age_seconds: float
    memory_bytes: int


def draw_bounds(options: Options) -> Bounds:
    """Each worker's own, so that not all reach their number of requests at once."""
    most = options.limit_max_requests
    extra = random.randint(0, options.limit_max_requests_jitter) if most else 0  # noqa: S311
    return Bounds(most + extra, options.limit_worker_age, options.limit_worker_memory)


def why_replace(vitals: Vitals, bounds: Bounds) -> str | None:
    """The reason as a log says it, or None."""
    if 0 < bounds.requests <= vitals.requests:
        return f"it has had {vitals.requests} requests"
    if 0 < bounds.age_seconds <= vitals.age_seconds:
        return f"it is {vitals.age_seconds:.0f} seconds old"
    if 0 < bounds.memory_bytes <= vitals.memory_bytes:
        return f"it takes {vitals.memory_bytes} bytes"
    return None


def resident_bytes(pid: int) -> int:
    """The memory of a process that is in use; 0 when it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def is_recycling(options: Options) -> bool:
    """Whether workers are ever replaced for having served."""
    bounds = (options.limit_max_requests, options.limit_worker_age, options.limit_worker_memory)
    return any(bounds)
