"""Migrations: each once, whole or not at all, and never over an unknown past or future."""

import asyncio

import asyncpg
import pytest

from rookery.db import migrations
from rookery.db.embedded import folder
from rookery.db.migrations import (
    Applied,
    Migration,
    MigrationChanged,
    MigrationFailed,
    SchemaNewer,
    missing,
)
from rookery.db.pool import Queries
from rookery.db.target import Target
from tests.database import statement

pytestmark = pytest.mark.anyio

KNOWN = migrations.load()
NEXT = Migration(KNOWN[-1].number + 1, "next", "CREATE TABLE later (n int)")
SCHEMA = (migrations.FOLDER.parent / "schema.sql").read_text()


def applied(migration: Migration) -> Applied:
    return Applied(migration.number, migration.name, migration.checksum)


async def dump(target: Target) -> str:
    """Everything in a database but when it was migrated; the dump's own random key left out."""
    words = ["--exclude-table-data=schema_migrations", "--inserts", target.dsn]
    program = str(folder.find() / "pg_dump")
    process = await asyncio.create_subprocess_exec(program, *words, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    assert process.returncode == 0
    return "\n".join(line for line in said.decode().splitlines() if "restrict" not in line)


def test_they_are_in_the_order_of_their_numbers_and_each_number_is_there_once() -> None:
    numbers = [migration.number for migration in KNOWN]
    assert numbers == sorted(set(numbers))


def test_only_what_was_not_applied_is_missing() -> None:
    assert missing([*KNOWN, NEXT], [applied(one) for one in KNOWN]) == (NEXT,)


def test_a_schema_from_the_future_is_refused() -> None:
    with pytest.raises(SchemaNewer, match=f"migration {NEXT.number}"):
        missing(KNOWN, [*map(applied, KNOWN), applied(NEXT)])


def test_a_changed_migration_is_refused() -> None:
    changed = Migration(KNOWN[0].number, KNOWN[0].name, KNOWN[0].sql + "-- a change\n")
    with pytest.raises(MigrationChanged, match="Migration 1"):
        missing([changed], [applied(KNOWN[0])])


async def test_the_schema_file_equals_the_sum_of_the_migrations(
    bare_database: Target, database: Target, may_block_the_loop: None
) -> None:
    await statement(bare_database, SCHEMA)
    assert await dump(bare_database) == await dump(database)


async def test_a_migrated_database_is_left_alone(database: Target, queries: Queries) -> None:
    assert await migrations.migrate(database, queries, KNOWN) == ()


async def test_processes_that_migrate_at_once_take_turns(
    bare_database: Target, queries: Queries
) -> None:
    both = (migrations.migrate(bare_database, queries, KNOWN) for _ in range(2))
    assert sorted(map(len, await asyncio.gather(*both))) == [0, len(KNOWN)]


async def test_a_failing_migration_leaves_nothing(database: Target, queries: Queries) -> None:
    broken = Migration(NEXT.number, "broken", "CREATE TABLE half (n int); SELECT 1 / 0")
    with pytest.raises(MigrationFailed, match="division by zero"):
        await migrations.migrate(database, queries, [*KNOWN, broken])
    assert await migrations.migrate(database, queries, [*KNOWN, NEXT]) == (NEXT,)
    connection = await asyncpg.connect(**database.connect_args)
    assert await connection.fetchval("SELECT to_regclass('half')") is None
    await connection.close()


async def test_a_migration_waits_for_writes_that_are_under_way(
    database: Target, queries: Queries
) -> None:
    writer = await asyncpg.connect(**database.connect_args)
    transaction = writer.transaction()
    await transaction.start()
    await writer.execute(queries["fence_pass_any"])
    migrating = asyncio.create_task(migrations.migrate(database, queries, [*KNOWN, NEXT]))
    assert not (await asyncio.wait({migrating}, timeout=0.3))[0]
    await transaction.commit()
    assert await migrating == (NEXT,)
    await writer.close()
