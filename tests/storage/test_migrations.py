"""Migrations: each once, whole or not at all, and never over an unknown past or future."""

import asyncio
import re

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
    UnreleasedSchema,
    find_missing,
)
from rookery.db.pool import Queries
from rookery.db.target import Target
from tests.database import statement

pytestmark = pytest.mark.anyio

KNOWN = migrations.load_migrations()
NEXT = Migration(KNOWN[-1].number + 1, "next", "CREATE TABLE later (n int)")
BASELINE = "b263683dc818fdeb315d5dbfe2d00fed292a47ba07141b9a95cd296558e7038e"
HEAD = re.compile(r"-- (expand|contract after \d{4}): \S")
# What a database says of itself that was made before the migrations became one.
EARLIER = Migration(1, "earlier", "CREATE TABLE schema_migrations (number integer)")


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


async def make_unreleased(target: Target, steps: int = 31) -> None:
    """Writes into a database what one of a development state says: so many other migrations."""
    rows = ", ".join(f"({at}, 'step', 'sum of step {at}')" for at in range(1, steps + 1))
    await statement(
        target,
        "DELETE FROM schema_migrations;"
        f"INSERT INTO schema_migrations (number, name, checksum) VALUES {rows}",
    )


def test_they_are_in_the_order_of_their_numbers_and_each_number_is_there_once() -> None:
    numbers = [migration.number for migration in KNOWN]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1


def test_the_first_is_the_one_that_databases_have_noted() -> None:
    # Of 0.1.dev at 4eea074f, whose databases go on.
    assert KNOWN[0].checksum == BASELINE


def test_each_later_one_says_of_what_kind_it_is() -> None:
    heads = [migration.sql.partition("\n")[0] for migration in KNOWN[1:]]
    assert [head for head in heads if not HEAD.match(head)] == []


def test_only_what_was_not_applied_is_missing() -> None:
    assert find_missing([*KNOWN, NEXT], [applied(one) for one in KNOWN]) == (NEXT,)


def test_a_schema_from_the_future_is_refused() -> None:
    with pytest.raises(SchemaNewer, match=f"migration {NEXT.number}"):
        find_missing(KNOWN, [*map(applied, KNOWN), applied(NEXT)])


def test_a_changed_migration_is_refused() -> None:
    changed = Migration(NEXT.number, NEXT.name, NEXT.sql + "-- a change\n")
    with pytest.raises(MigrationChanged, match=f"Migration {NEXT.number}"):
        find_missing([*KNOWN, changed], [*map(applied, KNOWN), applied(NEXT)])


@pytest.mark.parametrize("past", [[EARLIER], [EARLIER, NEXT], [NEXT]])
def test_a_past_that_begins_otherwise_is_refused(past: list[Migration]) -> None:
    with pytest.raises(UnreleasedSchema, match="go on with the version that made it"):
        find_missing(KNOWN, [applied(one) for one in past])


async def test_a_database_of_an_earlier_development_state_is_left_as_it_was(
    database: Target, queries: Queries, may_block_the_loop: None
) -> None:
    await make_unreleased(database)
    before = await dump(database)
    with pytest.raises(UnreleasedSchema, match="start in an empty folder"):
        await migrations.migrate(database, queries, [*KNOWN, NEXT])
    assert await dump(database) == before


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
