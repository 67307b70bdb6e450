"""Migrates a database to the current schema: numbered files, each applied once in a transaction.

A file that is in the main branch never changes again, not by a byte: databases have noted its
checksum. A change of the schema is a new file `sql/migrations/NNNN_words.sql` with the next number,
and its first line says of what kind it is:

    -- expand: the instances table, which each server writes its row into.
    -- contract after 0004: drops lease.holder, which nobody reads since 0004.

An expanding one leaves everything that the code before it reads and writes as it was, so that old
and new servers run side by side on it: new tables, new indexes, new columns with a default or
without NOT NULL. A contracting one takes away what only code from before the named migration uses.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from rookery.db.pool import EventLog, OwnConnection, Queries, quiet
from rookery.db.target import Problem, Target, pass_test_point

FOLDER = Path(__file__).parent / "sql" / "migrations"
LOCK = 0x726F6F6B  # any number that all versions of Rookery agree on
LOOK_AGAIN_SECONDS = 0.2


class SchemaNewer(Problem):
    """The database has migration {found}, this Rookery knows them up to {known}: use the newer
    version that made it."""


class UnreleasedSchema(Problem):
    """The database was made by a development state of Rookery from before 0.1, which this version
    cannot read: go on with the version that made it, or start in an empty folder (--data) or with
    an empty database (--database-url)."""


class MigrationChanged(Problem):
    """Migration {number} ({name}) is not the one that this database has seen: its text was changed
    after it was applied."""


class MigrationFailed(Problem):
    """Migration {number} ({name}) failed and was undone: {reason}."""


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Applied:
    number: int
    name: str
    checksum: str


def load_migrations(folder: Path = FOLDER) -> tuple[Migration, ...]:
    """Reads the files; it blocks, so call it before the loop runs or in a thread."""
    return tuple(
        Migration(int(path.stem[:4]), path.stem[5:], path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    )


def find_missing(known: Sequence[Migration], applied: Sequence[Applied]) -> tuple[Migration, ...]:
    """The migrations that are still to be applied; both arguments are ordered by number. Raises
    UnreleasedSchema, SchemaNewer or MigrationChanged for a database that must not be touched."""
    if applied and applied[0].checksum != known[0].checksum:
        raise UnreleasedSchema
    by_number = {migration.number: migration for migration in known}
    for one in applied:
        if one.number not in by_number:
            raise SchemaNewer(found=one.number, known=known[-1].number)
        if by_number[one.number].checksum != one.checksum:
            raise MigrationChanged(number=one.number, name=one.name)
    seen = {one.number for one in applied}
    return tuple(migration for migration in known if migration.number not in seen)


async def migrate(
    target: Target, queries: Queries, known: Sequence[Migration], *, log: EventLog = quiet
) -> tuple[Migration, ...]:
    """Applies the missing migrations, one process at a time, and returns them."""
    async with _session(target, queries, log) as connection:
        todo = find_missing(known, await _load_applied(connection, queries))
        for migration in todo:
            await _apply(connection, queries, migration)
            log("migration_applied", number=migration.number, name=migration.name)
    return todo


@asynccontextmanager
async def _session(target: Target, queries: Queries, log: EventLog) -> AsyncIterator[OwnConnection]:
    """A connection of its own, without the pool's time limits: a migration may take long."""
    settings = {"application_name": "rookery-migrations"}
    connection = await asyncpg.connect(**target.connect_args, server_settings=settings)
    try:
        while not await connection.fetchval(queries["migrations_lock"], LOCK):
            log("migration_waits", reason="another process migrates this database")
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        yield connection
    finally:
        await connection.close(timeout=5)


async def _load_applied(connection: OwnConnection, queries: Queries) -> list[Applied]:
    if not await connection.fetchval(queries["migrations_begun"]):
        return []
    return [Applied(**row) for row in await connection.fetch(queries["migrations_applied"])]


async def _apply(connection: OwnConnection, queries: Queries, migration: Migration) -> None:
    pass_test_point("migration_begins")
    try:
        async with connection.transaction():
            if await connection.fetchval(queries["migrations_begun"]):
                await connection.execute(queries["migrations_hold_writers"])
            await connection.execute(migration.sql)
            await connection.execute(
                queries["migrations_note"], migration.number, migration.name, migration.checksum
            )
            pass_test_point("migration_before_commit")
    except asyncpg.PostgresError as error:
        raise MigrationFailed(number=migration.number, name=migration.name, reason=error) from error
