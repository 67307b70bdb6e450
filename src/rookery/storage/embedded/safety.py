"""What must be true of a freshly started embedded server before anyone uses it."""

from pathlib import Path

import asyncpg

from rookery.storage.embedded.problems import UnsafeSettings
from rookery.storage.target import Target, other_database

# Here and not among the named queries: they run before there is anything of ours.
EXISTS = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)"
UNSAFE = """
SELECT name FROM pg_settings
WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes') AND setting <> 'on'
ORDER BY name
"""


async def ensure_database(target: Target, database: str, data: Path) -> None:
    """Makes our database where it is missing and checks that commits reach the disk."""
    connection = await asyncpg.connect(**other_database(target, "postgres").connect_args)
    try:
        if not await connection.fetchval(EXISTS, database):
            await connection.execute(f'CREATE DATABASE "{database}"')
    finally:
        await connection.close()
    connection = await asyncpg.connect(**target.connect_args)
    try:
        unsafe = [f"{row['name']} off" for row in await connection.fetch(UNSAFE)]
    finally:
        await connection.close()
    if unsafe:
        raise UnsafeSettings(
            settings=", ".join(unsafe), path=data / "database" / "postgres" / "local.conf"
        )
