"""What a program in the sandbox may access and use. The launcher receives this as its arguments."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

PORT = 3128
"""The port of the gateway inside a sandbox. It is free, because nothing else uses the network
namespace."""
Way = Literal["namespaces", "bubblewrap", "within", "none"]
"""What isolates the program: the launcher's own namespaces, bubblewrap, the bubblewrap that has
started this launcher (`within`), or nothing."""
BOOT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1));"
    " from rookery.worker.sandbox.launcher import main; main(sys.argv[1:])"
)
"""Starts the launcher from the package whose folder is the first word."""
HOME = "/home/engine"
MEBIBYTE = 2**20
SCOPE = "scope"
"""In place of a control group: that of the launcher itself, which systemd has made for it."""
SOCKET_KIB = 208
"""The size of the buffer that Linux gives a socket, unless its owner changed that."""
NOBODY = 65534
FIRST_OF_ITS_OWN = 2**30
MOST_ACCOUNTS = 2
"""The number of accounts in a sandbox: the worker's own, and nobody."""


@dataclass(frozen=True, slots=True)
class UserIds:
    """The user and group that a program inside runs as."""

    uid: int
    gid: int

    @classmethod
    def inside(cls) -> "UserIds":
        """Return the account nobody, if the worker can choose: root's number would allow too
        much."""
        if os.geteuid() == 0 and _knows_nobody():
            return cls(NOBODY, NOBODY)
        return cls(os.geteuid(), os.getegid())

    @classmethod
    def within(cls, enclosure: "Enclosure") -> "UserIds":
        """Return the same in bubblewrap, where no namespace of accounts may be around the program:
        then an account of its own, so that its processes are counted alone. Files of a build belong
        to nobody."""
        account, found = cls.inside(), FIRST_OF_ITS_OWN + enclosure.number
        if account.uid == os.geteuid() or enclosure.writable or not _is_mapped(found):
            return account
        return cls(found, account.gid)


def _knows_nobody() -> bool:
    """Whether the account nobody exists here. A container may have only root."""
    return _is_mapped(NOBODY)


def _is_mapped(account: int) -> bool:
    return any(first <= account < first + count for first, _, count in _accounts())


def has_account_of_its_own() -> bool:
    """Whether this process runs as an account that no other sandbox has."""
    return os.geteuid() >= FIRST_OF_ITS_OWN


def is_namespace_of_one_sandbox() -> bool:
    """Whether this user namespace was made for one sandbox."""
    return sum(count for _, _, count in _accounts()) <= MOST_ACCOUNTS


def _accounts() -> list[tuple[int, ...]]:
    with open("/proc/self/uid_map") as file:  # noqa: PTH123 - the launcher starts often
        return [tuple(map(int, line.split())) for line in file]


@dataclass(frozen=True, slots=True)
class Enclosure:
    """What a program in a sandbox may access and use. Paths are the same inside as on the
    machine."""

    way: Way
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    folder: str = HOME
    environment: Mapping[str, str] = field(default_factory=dict)
    bubblewrap: str = ""
    """The path of bubblewrap, if that is used."""
    group: str = ""
    """The control group in which the launcher makes one for this sandbox, or SCOPE; empty for
    none."""
    group_files: tuple[int, ...] = ()
    """Descriptors of the sandbox's group: where processes enter, and what happened in it."""
    number: int = 0
    """A number that no other running sandbox has, within bubblewrap."""
    niceness: int = 0
    """How much the program steps back behind others."""
    relay: str = ""
    """The gateway's socket, which is the only access to a network; empty for no access."""
    memory_mib: int = 0
    """The limit for the memory of all its processes together; 0 for none."""
    least_free_mib: int = 0
    """With less memory than this left, the machine has no more for a program that may have taken
    its share; 0 for no such limit."""
    processes: int = 64
    """With more processes than this, all of them are killed. Threads are not counted."""
    tasks: int = 1024
    """The limit for processes and threads together. It keeps a fork bomb small."""
    temporary_mib: int = 64
    file_mib: int = 0
    """The limit for a single file, also in memory; 0 for none."""
    deleted_mib: int = 0
    """The limit for disk space of files that were deleted while open; 0 for none."""
    socket_kib: int = SOCKET_KIB
    """The size of the buffer that the machine gives a socket."""
    filtered: bool = True
    """Whether system calls that no engine needs are refused. On some processors they can't be."""
    watch_seconds: float = 0.5

    def text(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> "Enclosure":
        return cls(**json.loads(text))
