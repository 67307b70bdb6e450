"""Restores a test's database for the next test.

Rows are deleted and the initial ones written again, which takes a hundredth of a second. Any other
change (tables, functions, settings of the database) shows in the catalogue, whose rows contain the
transaction that wrote them; such a database is not reused.
"""

from dataclasses import dataclass
from typing import TypeAlias

import asyncpg

from rookery.server.db.target import Target

# Truncating gives a table another file, which shows here as well.
CATALOGUE = """
SELECT md5(string_agg(written, ',' ORDER BY written)) FROM (
    SELECT format('c %s %s', oid, xmin) FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT format('a %s %s %s', attrelid, attnum, xmin) FROM pg_attribute
        WHERE attrelid >= 16384
    UNION ALL SELECT format('f %s %s', oid, xmin) FROM pg_proc WHERE oid >= 16384
    UNION ALL SELECT format('k %s %s', oid, xmin) FROM pg_constraint
    UNION ALL SELECT format('t %s %s', oid, xmin) FROM pg_trigger
    UNION ALL SELECT format('y %s %s', oid, xmin) FROM pg_type WHERE oid >= 16384
    UNION ALL SELECT format('n %s %s', oid, xmin) FROM pg_namespace WHERE oid >= 16384
    UNION ALL SELECT format('s %s', setconfig) FROM pg_db_role_setting AS s
        JOIN pg_database AS d ON d.oid = s.setdatabase WHERE d.datname = current_database()
) AS rows (written)
"""
TABLES = "SELECT format('%I', tablename) FROM pg_tables WHERE schemaname = 'public'"
SEQUENCES = "SELECT format('%I', sequencename), start_value FROM pg_sequences"
SESSIONS = """
SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend'
    AND pid <> pg_backend_pid()
"""


Session: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@dataclass(slots=True)
class KeptDatabase:
    """A database in its initial state, and our session on it, which no test uses."""

    target: Target
    session: Session
    catalogue: str
    restoring: str


async def keep(target: Target) -> KeptDatabase:
    session = await asyncpg.connect(**target.connect_args)
    catalogue: str = await session.fetchval(CATALOGUE)
    return KeptDatabase(target, session, catalogue, await _restoring(session))


async def put_back(kept: KeptDatabase) -> bool:
    """Ends all sessions, then restores the rows; False if more than rows has changed."""
    try:
        await kept.session.fetch(SESSIONS)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        # The test has ended our session, too.
        kept.session.terminate()
        kept.session = await asyncpg.connect(**kept.target.connect_args)
        await kept.session.fetch(SESSIONS)
    if await kept.session.fetchval(CATALOGUE) != kept.catalogue:
        return False
    await kept.session.execute(kept.restoring)
    return True


async def _restoring(session: Session) -> str:
    """SQL that deletes all rows, ignoring references, and writes the initial ones."""
    tables = [record[0] for record in await session.fetch(TABLES)]
    deletions = [f"DELETE FROM {table}" for table in tables]
    first_rows = [await _insertion(session, table) for table in tables]
    counters = [
        f"SELECT setval('{name}', {start}, false)" for name, start in await session.fetch(SEQUENCES)
    ]
    freely = "SET LOCAL session_replication_role = replica; SET LOCAL synchronous_commit = off"
    steps = (freely, *deletions, *first_rows, *counters)
    return f"BEGIN; {'; '.join(filter(None, steps))}; COMMIT"


async def _insertion(session: Session, table: str) -> str:
    rows = await session.fetchval(f"SELECT json_agg(t) FROM {table} AS t")
    if rows is None:
        return ""
    quoted = await session.fetchval("SELECT quote_literal($1::text)", rows)
    return f"INSERT INTO {table} SELECT * FROM json_populate_recordset(null::{table}, {quoted})"
