"""Migrates a database to the current schema: numbered files, each applied once, under load.

A file in the main branch never changes, not by a byte, because databases have stored its checksum.
A change of the schema is a new file `sql/migrations/NNNN_words.sql` with the next number, and its
first line states its kind:

    -- expand: the instances table, which each server writes its row into.
    -- expand concurrently: the index that lists the runs of a user.
    -- expand concurrently with pg_trgm: an index that needs this extension of PostgreSQL.
    -- contract after 0004: drops lease.holder, which nobody reads since 0004.

An expanding migration leaves everything that earlier code reads and writes unchanged, so that old
and new servers can run side by side: it adds tables, indexes, or columns with a default or without
NOT NULL. `concurrently` is for indexes of tables in use: CREATE INDEX CONCURRENTLY does not block
writers, but cannot be part of a transaction. A migration that needs an extension is postponed where
the extension is not available, and tried again at each start; the code must work without it. A
contracting migration removes what only code from before the named migration uses. It is postponed
while such a server is live, so the code that ships it must work without it, and no expanding
migration may depend on it.

Theory of operation. The fence is locked first: writes in progress end, and new ones wait; so no
writer holds some of its locks when the migration needs one of them. If a lock can't be had within a
second, or the migration would hold up servers for two seconds, it is rolled back and tried again.
The next process starts an interrupted migration anew.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from rookery.server.db.connecting import OwnConnection, connect
from rookery.server.db.pool import CONNECT_SECONDS, EventLog, Queries, quiet
from rookery.server.db.target import Problem, Target, pass_test_point

FOLDER = Path(__file__).parent / "sql" / "migrations"
LOCK = 0x726F6F6B  # any number that all versions of Rookery agree on
LOOK_AGAIN_SECONDS = 0.2
HEAD = re.compile(
    r"-- (?:expand(?P<concurrently> concurrently(?: with (?P<extension>[a-z_]+))?)?"
    r"|contract after (?P<needs>\d{4})): \S"
)
HAS_EXTENSION = """
SELECT EXISTS (SELECT FROM pg_extension WHERE extname = $1)
    OR has_database_privilege(current_database(), 'CREATE')
        AND EXISTS (
            SELECT FROM pg_available_extension_versions
            WHERE name = $1
                AND (trusted OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user))
        )
"""
"""A query that tells whether a database has an extension or this user may add it."""

HOLD_SECONDS = 2.0
"""How long a migration may hold up servers; workers' calls wait longer than that."""
PAUSE_SECONDS = 0.5
ATTEMPTS = 60
HELD_UP = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError, TimeoutError)


MIGRATION_FAILED = "Migration {number} ({name}) failed and was undone: {reason}."


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def is_concurrent(self) -> bool:
        """Whether the migration builds indexes without blocking writers, each in a separate
        statement."""
        head = HEAD.match(self.sql)
        return head is not None and head["concurrently"] is not None

    @property
    def extension(self) -> str:
        """The PostgreSQL extension that the migration needs; empty for most."""
        head = HEAD.match(self.sql)
        return (head["extension"] or "") if head else ""

    @property
    def needs(self) -> int:
        """The migration that code must know to work after this one; 0 if any code does."""
        head = HEAD.match(self.sql)
        return int(head["needs"] or 0) if head else 0

    @property
    def statements(self) -> list[str]:
        """The statements of a concurrent migration; none of them contains a semicolon."""
        lines = [line for line in self.sql.splitlines() if not line.startswith("--")]
        return [each.strip() for each in "\n".join(lines).split(";") if each.strip()]


@dataclass(frozen=True, slots=True)
class Applied:
    number: int
    name: str
    checksum: str
    needs: int = 0


def load_migrations(folder: Path = FOLDER) -> tuple[Migration, ...]:
    """Read the files; it blocks, so call it before the loop runs or in a thread."""
    return tuple(
        Migration(int(path.stem[:4]), path.stem[5:], path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    )


def read_sql() -> tuple[Queries, tuple[Migration, ...]]:
    """Read all queries and migrations; it blocks, too."""
    return Queries.load(), load_migrations()


def find_missing(known: Sequence[Migration], applied: Sequence[Applied]) -> tuple[Migration, ...]:
    """Return the migrations that are missing; both arguments are ordered by number. Raise a Problem
    for a database that must not be changed."""
    if applied and applied[0].checksum != known[0].checksum:
        raise Problem(
            "The database was made by a development state of Rookery from before 0.1, which "
            "this version cannot read: go on with the version that made it, or start in an "
            "empty folder (--data) or with an empty database (--database-url)."
        )
    by_number, newest = {migration.number: migration for migration in known}, known[-1].number
    for one in applied:
        if one.number > newest:
            if one.needs > newest:
                raise Problem(
                    "The database has migration {found}, which this Rookery is too old for (it"
                    " knows them up to {known}): use the version that made it, or a newer one.",
                    found=one.number,
                    known=newest,
                )
        elif one.number not in by_number or by_number[one.number].checksum != one.checksum:
            raise Problem(
                "Migration {number} ({name}) is not the one that this database has seen: its "
                "text was changed after it was applied.",
                number=one.number,
                name=one.name,
            )
    seen = {one.number for one in applied}
    return tuple(migration for migration in known if migration.number not in seen)


async def migrate(
    target: Target,
    queries: Queries,
    known: Sequence[Migration],
    *,
    log: EventLog = quiet,
    must_finish: bool = False,
) -> tuple[Migration, ...]:
    """Apply the missing migrations, one process at a time, and return those that it applied.
    Contracting ones are postponed while older servers are live; with `must_finish` that finally
    raises a Problem that names them."""
    done, put_off = list[Migration](), list[Problem]()
    async with _session(target, queries, log) as connection:
        applied = await _load_applied(connection, queries)
        missing = find_missing(known, applied)
        if applied and applied[-1].number > known[-1].number:
            log("schema_newer", found=applied[-1].number, known=known[-1].number)
        for migration in missing:
            if older := await _find_older_servers(connection, queries, migration):
                put_off.append(older)
                log("migration_put_off", **older.fields)
                continue
            if why := await _add_extension(connection, migration):
                log("migration_put_off", number=migration.number, name=migration.name, reason=why)
                continue
            await _apply(connection, queries, migration, log)
            done.append(migration)
            log("migration_applied", number=migration.number, name=migration.name)
    if put_off and must_finish:
        raise put_off[0]
    return tuple(done)


@asynccontextmanager
async def _session(target: Target, queries: Queries, log: EventLog) -> AsyncIterator[OwnConnection]:
    """Yield a separate connection without the pool's time limits, because building an index may
    take long. If the process is suspended in the middle of a transaction, PostgreSQL ends the
    session, which releases the lock of all migrations."""
    settings = {
        "application_name": "rookery-migrations",
        "idle_in_transaction_session_timeout": "5000",
    }
    connection = await connect(target, seconds=CONNECT_SECONDS, server_settings=settings)
    try:
        while not await connection.fetchval(queries["migrations_lock"], LOCK):
            log("migration_waits", reason="another process migrates this database")
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        yield connection
    finally:
        await connection.close(timeout=5)


async def list_missing(
    connection: OwnConnection, queries: Queries, known: Sequence[Migration]
) -> tuple[Migration, ...]:
    """Return the migrations that a database needs; all of them if it is new."""
    missing = find_missing(known, await _load_applied(connection, queries))
    return tuple(each for each in missing if not each.extension)


async def check_schema(
    target: Target, queries: Queries, known: Sequence[Migration], *, create: bool
) -> None:
    """Raise a Problem for a database that this version would have to migrate first. A database
    without tables gets them with `create`, else it is a Problem too."""
    async with _session(target, queries, quiet) as connection:
        applied = await _load_applied(connection, queries)
    if not applied and create:
        await migrate(target, queries, known)
    elif not applied:
        raise Problem(
            "The database has no tables yet: `rookery db migrate` makes them, as does the "
            "start of a server."
        )
    else:
        _refuse_older(find_missing(known, applied))


def _refuse_older(missing: Sequence[Migration]) -> None:
    """Code works without what it has not removed yet, and without what an extension brings."""
    needed = [each for each in missing if not each.needs and not each.extension]
    if needed:
        raise Problem(
            "The database is of an older version and lacks migration {missing}. `rookery db "
            "migrate` applies it, as does the start of a server (make a backup first: `rookery"
            " db backup`).",
            missing=", ".join(f"{each.number:04} ({each.name})" for each in needed),
        )


async def _load_applied(connection: OwnConnection, queries: Queries) -> list[Applied]:
    if not await connection.fetchval(queries["migrations_begun"]):
        return []
    return [Applied(**row) for row in await connection.fetch(queries["migrations_applied"])]


async def _find_older_servers(
    connection: OwnConnection, queries: Queries, migration: Migration
) -> Problem | None:
    """Return the reason to postpone a contracting migration; None if there is none."""
    if not migration.needs:
        return None
    rows = await connection.fetch(queries["migrations_older_servers"], migration.needs)
    servers = ", ".join(row["name"] for row in rows)
    if not servers:
        return None
    return Problem(
        "Migration {number} ({name}) was put off, because it takes away what these servers "
        "still use: {servers}. Stop them and migrate again.",
        number=migration.number,
        name=migration.name,
        servers=servers,
    )


async def _add_extension(connection: OwnConnection, migration: Migration) -> str:
    """Add the extension that a migration needs. Return why that is impossible, or an empty text."""
    name = migration.extension
    if not name:
        return ""
    if not await connection.fetchval(HAS_EXTENSION, name):
        return f"this PostgreSQL has no extension {name} that we may add"
    try:
        await connection.execute(f"CREATE EXTENSION IF NOT EXISTS {name}")
    except asyncpg.PostgresError as error:
        return f"the extension {name} can't be added: {error}"
    return ""


async def _apply(
    connection: OwnConnection, queries: Queries, migration: Migration, log: EventLog
) -> None:
    """Apply a migration; try again while other sessions are in the way."""
    apply_once = _build_indexes if migration.is_concurrent else _apply_whole
    for attempt in range(1, ATTEMPTS + 1):
        pass_test_point("migration_begins")
        try:
            return await apply_once(connection, queries, migration)
        except HELD_UP as error:
            log("migration_held_up", number=migration.number, attempt=attempt, reason=repr(error))
        except asyncpg.PostgresError as error:
            raise Problem(
                MIGRATION_FAILED, number=migration.number, name=migration.name, reason=error
            ) from error
        await asyncio.sleep(PAUSE_SECONDS)
    reason = f"the servers would have to wait for it longer than {HOLD_SECONDS:g} s: stop them"
    raise Problem(MIGRATION_FAILED, number=migration.number, name=migration.name, reason=reason)


async def _apply_whole(connection: OwnConnection, queries: Queries, migration: Migration) -> None:
    begun = await connection.fetchval(queries["migrations_begun"])
    served = begun and await connection.fetchval(queries["migrations_served"])
    async with asyncio.timeout(HOLD_SECONDS if served else None), connection.transaction():
        if begun:
            await connection.execute(queries["migrations_patience"])
            await connection.execute(queries["migrations_hold_writers"])
        await connection.execute(migration.sql)
        await _note(connection, queries, migration)
        pass_test_point("migration_before_commit")


async def _build_indexes(connection: OwnConnection, queries: Queries, migration: Migration) -> None:
    """Build a migration's indexes, after removing incomplete ones of an interrupted attempt."""
    for row in await connection.fetch(queries["migrations_broken_indexes"]):
        if re.search(rf"\b{re.escape(row['name'])}\b", migration.sql):
            await connection.execute(f"DROP INDEX CONCURRENTLY {row['quoted']}")
    for statement in migration.statements:
        await connection.execute(statement)
    await _note(connection, queries, migration)


async def _note(connection: OwnConnection, queries: Queries, migration: Migration) -> None:
    await connection.execute(
        queries["migrations_note"], migration.number, migration.name, migration.checksum
    )
    if migration.needs:
        await connection.execute(
            queries["migrations_note_needs"], migration.number, migration.needs
        )
