"""How a database is reached: by asyncpg on the loop, and by PostgreSQL's own programs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlencode


@dataclass(frozen=True, slots=True)
class Target:
    """Safe to log: the password is in neither `dsn` nor the representation."""

    dsn: str
    connect_args: Mapping[str, Any] = field(repr=False)
    password: str | None = field(default=None, repr=False)

    @property
    def program_environment(self) -> dict[str, str]:
        """What psql and pg_dump must find in their environment, where `ps` does not show it."""
        return {} if self.password is None else {"PGPASSWORD": self.password}


def socket_target(folder: str, port: int, user: str, database: str) -> Target:
    """A server on this machine that trusts whoever reaches its socket."""
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
