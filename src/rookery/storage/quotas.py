"""What users keep here, counted from the rows of their uploads.

The row of an upload is written between `begin` and `check`, in one transaction. Whoever gives
several things at once gives them one after the other, so that each is counted before the next.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from rookery.service.quotas import check_quota
from rookery.storage.pool import Connection, Pool
from rookery.storage.queries import Queries


@dataclass(frozen=True, slots=True)
class Upload:
    """What a user gives, and what the site allows everybody; None: as much as they like."""

    user: str
    size: int
    limit: int | None

    async def begin(self, connection: Connection, queries: Queries) -> None:
        if self.limit is not None:
            await connection.execute(queries["uploads_hold"], self.user)

    async def check(self, connection: Connection, queries: Queries) -> None:
        """Raises QuotaExceeded, which undoes the transaction."""
        if self.limit is not None:
            row = await connection.fetchrow(queries["uploads_of"], self.user, self.limit)
            assert row is not None
            used = row["used"] - self.size
            check_quota(used=used, allowed=row["allowed"], size=self.size)


class Kept(Protocol):
    """A net, a program or a book."""

    @property
    def user(self) -> str: ...

    @property
    def size(self) -> int: ...


def check_among(kept: Iterable[Kept], new: Kept, limit: int | None) -> None:
    """For the twins in memory, each of which knows of its own kind alone."""
    if limit is not None:
        used = sum(each.size for each in kept if each.user == new.user)
        check_quota(used=used, allowed=limit, size=new.size)


async def used_by_user(pool: Pool, queries: Queries) -> Mapping[str, int]:
    """Bytes that users keep here, by their names."""
    rows = await pool.fetch(queries["uploads_by_user"])
    return {row["user_name"]: row["used"] for row in rows}
