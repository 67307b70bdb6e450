"""What all of db shares: the target of a connection, the base of its errors, and syncing files to
disk. It imports no driver, because the embedded server's supervisor uses it.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from rookery.core.errors import Complaint, Fault


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
    """The hosts and ports if there are several, of which one at a time accepts writes."""
    session: Mapping[str, str] = field(default_factory=dict)
    """Settings for our sessions where the server's own would risk losing data."""

    @property
    def program_environment(self) -> dict[str, str]:
        """The environment of psql and pg_dump, with the password, which `ps` does not show
        there."""
        return {} if self.password is None else {"PGPASSWORD": self.password}


def socket_target(folder: str, port: int, user: str, database: str) -> Target:
    """Return the target of a server on this machine whose socket needs no password."""
    query = urlencode({"host": folder, "port": port}, quote_via=quote)
    arguments = {
        "host": folder,
        "port": port,
        "user": user,
        "database": database,
        "password": "",  # set, so that asyncpg reads no password file
        "ssl": False,
    }
    return Target(f"postgresql://{quote(user)}@/{quote(database)}?{query}", arguments)


def other_database(target: Target, database: str) -> Target:
    """Return the target of another database on the same server (for our own servers, where we
    choose the name)."""
    head, _, tail = target.dsn.partition("@/")
    dsn = f"{head}@/{quote(database)}?{tail.partition('?')[2]}"
    return replace(target, dsn=dsn, connect_args={**target.connect_args, "database": database})


def sync(path: Path) -> None:
    """Sync a file's bytes or a folder's entries to disk. A new file's name is safe only after its
    folder is synced, too."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Points in the code at which a test may kill or suspend the process. Only tests can switch them on.
#
# There is no variable or flag for them: a test starts its own script, which sets the hook before it
# calls our code.

_hooks: list[Callable[[str], None]] = []


def pass_test_point(moment: str) -> None:
    """Call the hook of a fault test, if one is set, with the name of this point in the code."""
    for hook in _hooks:
        hook(moment)


def set_hook(hook: Callable[[str], None]) -> None:
    _hooks[:] = [hook]
