"""What a program in the sandbox may see and take, as the launcher is told it."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

HOME = "/home/engine"
MEBIBYTE = 2**20
NOBODY = 65534


@dataclass(frozen=True, slots=True)
class Account:
    """Whom a program inside runs as."""

    uid: int
    gid: int

    @classmethod
    def inside(cls) -> "Account":
        """Nobody, where the worker has the choice: root's number alone opens too much."""
        if os.geteuid() == 0 and _knows_nobody():
            return cls(NOBODY, NOBODY)
        return cls(os.geteuid(), os.getegid())


def _knows_nobody() -> bool:
    """Not so for a root who is one in a container without other accounts."""
    with open("/proc/self/uid_map") as file:  # noqa: PTH123 - the launcher starts often
        ranges = [tuple(map(int, line.split())) for line in file]
    return any(first <= NOBODY < first + count for first, _, count in ranges)


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Paths are those of the machine, and the same inside."""

    namespaces: bool
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    folder: str = HOME
    environment: Mapping[str, str] = field(default_factory=dict)
    network: bool = False
    memory_mib: int = 0
    """Of all its processes together; 0 for any amount."""
    processes: int = 64
    """More of them are the end of all; threads are not counted."""
    tasks: int = 1024
    """More processes and threads than that can't be made, so that a bomb stays small."""
    temporary_mib: int = 64
    file_mib: int = 0
    """The largest single file; 0 for any size."""
    watch_seconds: float = 0.5

    def text(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> "Enclosure":
        return cls(**json.loads(text))
