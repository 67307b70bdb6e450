"""What a program in the sandbox may see and take, as the launcher is told it."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

PORT = 3128
"""Where a sandbox with a way out has it: free, because nobody else is in the namespace."""
Way = Literal["namespaces", "bubblewrap", "within", "none"]
"""Who makes the walls: the launcher itself, bubblewrap, whoever was before it, or nobody."""
BOOT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1));"
    " from rookery.worker.sandbox.launcher import main; main(sys.argv[1:])"
)
"""Starts the launcher from the package whose folder is the first word."""
HOME = "/home/engine"
MEBIBYTE = 2**20
NOBODY = 65534
MOST_ACCOUNTS = 2
"""Of a sandbox: the worker's own, and nobody."""


@dataclass(frozen=True, slots=True)
class UserIds:
    """The user and group that a program inside runs as."""

    uid: int
    gid: int

    @classmethod
    def inside(cls) -> "UserIds":
        """Nobody, where the worker has the choice: root's number alone opens too much."""
        if os.geteuid() == 0 and _knows_nobody():
            return cls(NOBODY, NOBODY)
        return cls(os.geteuid(), os.getegid())


def _knows_nobody() -> bool:
    """Whether there is an account for nobody; a container may have root's alone."""
    return any(first <= NOBODY < first + count for first, _, count in _accounts())


def knows_few_accounts() -> bool:
    """Whether this is a user namespace for one sandbox alone."""
    return sum(count for _, _, count in _accounts()) <= MOST_ACCOUNTS


def _accounts() -> list[tuple[int, ...]]:
    with open("/proc/self/uid_map") as file:  # noqa: PTH123 - the launcher starts often
        return [tuple(map(int, line.split())) for line in file]


@dataclass(frozen=True, slots=True)
class Enclosure:
    """What a program in a sandbox may see and use. Paths are those of the machine, and the same
    inside."""

    way: Way
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    folder: str = HOME
    environment: Mapping[str, str] = field(default_factory=dict)
    bubblewrap: str = ""
    """The program that makes the walls."""
    relay: str = ""
    """The socket of the gateway, which is the only way to a network; none without it."""
    memory_mib: int = 0
    """Of all its processes together; 0 for any amount."""
    processes: int = 64
    """More of them are the end of all; threads are not counted."""
    tasks: int = 1024
    """More processes and threads than that can't be made, so that a bomb stays small."""
    temporary_mib: int = 64
    file_mib: int = 0
    """The largest single file, also one in memory alone; 0 for any size."""
    deleted_mib: int = 0
    """Of the disk, in files that have no name any more; 0 for any amount."""
    watch_seconds: float = 0.5

    def text(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> "Enclosure":
        return cls(**json.loads(text))
