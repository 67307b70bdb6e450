"""Holdings: files that were given for an engine. Those of a private engine are for its team alone.

A file is a net, a program or a book, by the name under which it is fetched. Whose it is was said
when it was given; who gives the same file again changes nothing, if they could know that it is
there. If not, they must not learn of it either: that they gave it is written down besides, and
from then on they, and whom they gave it for, see it as theirs.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rookery.db.fence import Fence
from rookery.db.pool import Connection, Pool, Queries
from rookery.errors import Complaint
from rookery.farm.engines import Engines
from rookery.farm.privacy import Privacy
from rookery.protocol.codec import BadParameter


@dataclass(frozen=True, slots=True)
class GivenAgain:
    """A file that was there in secret when somebody gave it; the engine may be empty."""

    file: str
    engine: str
    user: str
    at: datetime
    size: int


class HoldingRows(Protocol):
    """The port. Any process may write; each change is told to all."""

    async def everything(self) -> Mapping[str, str]:
        """The engines of files."""
        ...

    async def add(self, file: str, engine: str) -> None:
        """The first engine counts."""
        ...

    async def remove(self, file: str) -> None:
        """The file, whoever gave it."""
        ...

    async def given_again(self) -> tuple[GivenAgain, ...]:
        """The oldest first."""
        ...

    async def give_again(self, given: GivenAgain, *, limit: int | None = None) -> None:
        """Counted as any upload is; raises QuotaExceeded. Twice is once."""
        ...

    async def take_back(self, given: GivenAgain) -> None: ...


class Holdings:
    """One per process; the event loop alone writes here."""

    def __init__(self, rows: HoldingRows, engines: Engines, privacy: Privacy) -> None:
        self._rows = rows
        self._engines = engines
        self._privacy = privacy
        self._engine_of: Mapping[str, str] = {}
        self._again: dict[str, tuple[GivenAgain, ...]] = {}

    async def load(self) -> None:
        """At the start, and whenever another process has changed something."""
        self._engine_of = await self._rows.everything()
        found: defaultdict[str, list[GivenAgain]] = defaultdict(list)
        for given in await self._rows.given_again():
            found[given.file].append(given)
        self._again = {file: tuple(all_given) for file, all_given in found.items()}

    def sees(self, viewer: str | None, file: str) -> bool:
        return self._sees_first(viewer, file) or self.seen_again(viewer, file) is not None

    def seen_again(self, viewer: str | None, file: str) -> GivenAgain | None:
        """As what somebody sees a file who may not know who gave it first."""
        if self._sees_first(viewer, file):
            return None
        found = self._again.get(file, ())
        return next((each for each in found if self._opens(viewer, each.engine)), None)

    def _sees_first(self, viewer: str | None, file: str) -> bool:
        return self._opens(viewer, self._engine_of.get(file, ""))

    def _opens(self, viewer: str | None, engine: str) -> bool:
        return not engine or self._privacy.sees_engine(viewer, engine)

    def engine_of(self, file: str) -> str:
        """Which engine a file was given for; empty for none."""
        return self._engine_of.get(file, "")

    def is_private(self, file: str) -> bool:
        """Whether it must not be kept where others find it, such as in a proxy."""
        engines = {
            self._engine_of.get(file, ""),
            *(each.engine for each in self._again.get(file, ())),
        }
        return engines <= self._engines.private.keys()

    def check(self, viewer: str, engine: str) -> None:
        """Whether somebody may give a file for an engine; raises BadParameter."""
        seen = self._privacy.sees_engine(viewer, engine)
        if engine and not (seen and engine in self._engines.catalogue.engines):
            raise BadParameter(name="engine", text="expected an engine that is known here")

    async def add(self, file: str, engine: str) -> None:
        if engine and file not in self._engine_of:
            await self._rows.add(file, engine)
            await self.load()

    async def give_again(self, given: GivenAgain, *, limit: int | None = None) -> None:
        """Raises QuotaExceeded."""
        await self._rows.give_again(given, limit=limit)
        await self.load()

    async def take_back(self, given: GivenAgain) -> None:
        await self._rows.take_back(given)
        await self.load()

    async def forget(self, file: str) -> None:
        """The file is gone: its name may come to mean another one."""
        if file in self._engine_of or file in self._again:
            await self._rows.remove(file)
            await self.load()


# Quotas: how much one user may keep here in nets, programs and books.

MB = 10**6


class QuotaExceeded(Complaint):
    """What is given does not fit into what its user may keep here."""

    def __init__(self, *, used: int, allowed: int, size: int) -> None:
        super().__init__(
            f"This takes {_mb(size)} MB, and of the {_mb(allowed)} MB of nets, programs and books"
            f" that you may keep here {_mb(used)} MB are taken. An administrator can allow more."
        )


def check_quota(*, used: int, allowed: int, size: int) -> None:
    """`used` is without what is given now."""
    if used + size > allowed:
        raise QuotaExceeded(used=used, allowed=allowed, size=size)


def _mb(size: int) -> str:
    return f"{size / MB:,.1f}".removesuffix(".0")


# What users keep here, counted from the rows of their uploads.
#
# The row of an upload is written between `begin` and `check`, in one transaction. Whoever gives
# several things at once gives them one after the other, so that each is counted before the next.


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


# Which engine a file was given for, in PostgreSQL and in memory; each change is told to all.


class PostgresHoldings:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def everything(self) -> Mapping[str, str]:
        rows = await self._pool.fetch(self._queries["holdings_all"])
        return {row["file"]: row["engine"] for row in rows}

    async def add(self, file: str, engine: str) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["holdings_add"], file, engine)
            await connection.execute(self._queries["engines_changed"], engine)

    async def remove(self, file: str) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["holdings_remove"], file)
            await connection.execute(self._queries["given_again_forget"], file)
            await connection.execute(self._queries["engines_changed"], "")

    async def given_again(self) -> tuple[GivenAgain, ...]:
        rows = await self._pool.fetch(self._queries["given_again_all"])
        return tuple(GivenAgain(**row) for row in rows)

    async def give_again(self, given: GivenAgain, *, limit: int | None = None) -> None:
        columns = (given.file, given.engine, given.user, given.at, given.size)
        upload = Upload(given.user, given.size, limit)
        async with self._fence.write() as connection:
            await upload.begin(connection, self._queries)
            new = await connection.fetchval(self._queries["given_again_add"], *columns)
            if new is not None:
                await upload.check(connection, self._queries)
                await connection.execute(self._queries["engines_changed"], given.engine)

    async def take_back(self, given: GivenAgain) -> None:
        columns = (given.file, given.engine, given.user)
        async with self._fence.write() as connection:
            await connection.execute(self._queries["given_again_remove"], *columns)
            await connection.execute(self._queries["engines_changed"], given.engine)
