"""Shared by all of db: the target of a connection, the base of its errors, and syncing files to the
disk. It imports no driver, because the supervisor of the embedded server uses it.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from rookery.errors import Complaint, Fault


class Problem(Fault, Complaint):
    """Something is wrong with the database."""


# The target of connections: by asyncpg, and by PostgreSQL's own programs.


@dataclass(frozen=True, slots=True)
class Target:
    """How to connect to a database. Safe to log: neither `dsn` nor the repr has the password."""

    dsn: str
    connect_args: Mapping[str, Any] = field(repr=False)
    password: str | None = field(default=None, repr=False)
    hosts: tuple[tuple[str, int], ...] = ()
    """Hosts and ports where there are several, of which one at a time accepts writes."""
    session: Mapping[str, str] = field(default_factory=dict)
    """Settings that sessions of ours are given because the server's own would lose data."""

    @property
    def program_environment(self) -> dict[str, str]:
        """The environment of psql and pg_dump, with the password, which `ps` does not show
        there."""
        return {} if self.password is None else {"PGPASSWORD": self.password}


def socket_target(folder: str, port: int, user: str, database: str) -> Target:
    """The target of a server on this machine whose socket needs no password."""
    query = urlencode({"host": folder, "port": port}, quote_via=quote)
    arguments = {
        "host": folder,
        "port": port,
        "user": user,
        "database": database,
        "password": "",  # given, so that asyncpg looks into no password file
        "ssl": False,
    }
    return Target(f"postgresql://{quote(user)}@/{quote(database)}?{query}", arguments)


def other_database(target: Target, database: str) -> Target:
    """The same server, another database (for servers of our own, where the name is ours)."""
    head, _, tail = target.dsn.partition("@/")
    dsn = f"{head}@/{quote(database)}?{tail.partition('?')[2]}"
    return replace(target, dsn=dsn, connect_args={**target.connect_args, "database": database})


def sync(path: Path) -> None:
    """Writes a file's bytes or a folder's names to the disk; a file's name is safe only once its
    folder is written too."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Moments at which a test may kill or stop the process; nothing outside a test can switch them on.
#
# There is no variable and no flag: a test starts its own script, which sets the hook before it
# calls our code.

_hooks: list[Callable[[str], None]] = []


def pass_test_point(moment: str) -> None:
    """Calls the hook of a fault test, if one is set, with the name of this point in the code."""
    for hook in _hooks:
        hook(moment)


def set_hook(hook: Callable[[str], None]) -> None:
    _hooks[:] = [hook]
