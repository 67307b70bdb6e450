"""Migrations: each once, whole or not at all, and never over an unknown past or future."""

import asyncio

import asyncpg
import pytest

from rookery.server.commands.db import DatabaseSettings
from rookery.server.commands.user import list_users
from rookery.server.db import migrations
from rookery.server.db.embedded import folder
from rookery.server.db.migrations import Applied, Migration, find_missing
from rookery.server.db.pool import Queries
from rookery.server.db.target import Problem, Target
from rookery.server.farm import run_filters
from rookery.server.farm.read_values import FinishedRunsQuery
from tests.database import statement

pytestmark = pytest.mark.anyio

KNOWN = migrations.load_migrations()
NEXT = Migration(KNOWN[-1].number + 1, "next", "CREATE TABLE later (n int)")
BASELINE = "b263683dc818fdeb315d5dbfe2d00fed292a47ba07141b9a95cd296558e7038e"
CONTRACTION = Migration(
    NEXT.number + 1, "less", f"-- contract after {NEXT.number:04}: less.\nDROP TABLE later;"
)
INDEXING = Migration(
    NEXT.number,
    "index",
    "-- expand concurrently: an index.\n"
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS kept_n ON kept (n);\n",
)
LIVE = "UPDATE lease SET holder = 'old', expires_at = 'infinity'"
GONE = "UPDATE lease SET expires_at = '-infinity'"
# What a database says of itself that was made before the migrations became one.
EARLIER = Migration(1, "earlier", "CREATE TABLE schema_migrations (number integer)")


def live_instance(name: str, schema: int, seen: str = "clock_timestamp()") -> str:
    row = f"'{name}', '', '', {schema}, 'secondary', now(), {seen}, '{{}}'"
    return f"; INSERT INTO instances VALUES ({row})"


def gone_instance(name: str) -> str:
    return live_instance(name, 1, "clock_timestamp() - interval '11 seconds'")


def applied(migration: Migration) -> Applied:
    return Applied(migration.number, migration.name, migration.checksum, migration.needs)


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


def test_only_what_was_not_applied_is_missing() -> None:
    assert find_missing([*KNOWN, NEXT], [applied(one) for one in KNOWN]) == (NEXT,)


def test_older_code_goes_on_after_an_expanding_migration() -> None:
    assert find_missing(KNOWN, [*map(applied, KNOWN), applied(NEXT)]) == ()


def test_code_that_knows_what_a_contracting_migration_needs_goes_on_after_it() -> None:
    both = [*map(applied, KNOWN), applied(NEXT), applied(CONTRACTION)]
    assert find_missing([*KNOWN, NEXT], both) == ()


def test_code_that_is_too_old_for_the_schema_is_refused() -> None:
    with pytest.raises(Problem, match=f"migration {CONTRACTION.number}"):
        find_missing(KNOWN, [*map(applied, KNOWN), applied(NEXT), applied(CONTRACTION)])


def test_a_changed_migration_is_refused() -> None:
    changed = Migration(NEXT.number, NEXT.name, NEXT.sql + "-- a change\n")
    with pytest.raises(Problem, match=f"Migration {NEXT.number}"):
        find_missing([*KNOWN, changed], [*map(applied, KNOWN), applied(NEXT)])


@pytest.mark.parametrize("past", [[EARLIER], [EARLIER, NEXT], [NEXT]])
def test_a_past_that_begins_otherwise_is_refused(past: list[Migration]) -> None:
    with pytest.raises(Problem, match="go on with the version that made it"):
        find_missing(KNOWN, [applied(one) for one in past])


async def test_a_database_of_an_earlier_development_state_is_left_as_it_was(
    database: Target, queries: Queries, may_block_the_loop: None
) -> None:
    await make_unreleased(database)
    before = await dump(database)
    with pytest.raises(Problem, match="start in an empty folder"):
        await migrations.migrate(database, queries, [*KNOWN, NEXT])
    assert await dump(database) == before


async def test_a_migrated_database_is_left_alone(database: Target, queries: Queries) -> None:
    assert await migrations.migrate(database, queries, KNOWN) == ()


async def test_a_reading_command_leaves_an_older_database_as_it_was(
    bare_database: Target, queries: Queries, may_block_the_loop: None
) -> None:
    await migrations.migrate(bare_database, queries, KNOWN[:1])
    before = await dump(bare_database)
    flags = DatabaseSettings(database_url=bare_database.dsn)
    with pytest.raises(Problem, match=r"lacks migration 0002 .*rookery db migrate"):
        await list_users(database=flags)
    assert await dump(bare_database) == before


async def test_a_reading_command_makes_no_tables(
    bare_database: Target, may_block_the_loop: None
) -> None:
    before = await dump(bare_database)
    with pytest.raises(Problem, match="The database has no tables yet:"):
        await list_users(database=DatabaseSettings(database_url=bare_database.dsn))
    assert await dump(bare_database) == before


async def test_a_command_works_beside_what_is_still_to_be_removed(
    database: Target, queries: Queries
) -> None:
    later = [*KNOWN, Migration(NEXT.number, "less", CONTRACTION.sql)]
    await migrations.check_schema(database, queries, later, create=False)


async def test_processes_that_migrate_at_once_take_turns(
    bare_database: Target, queries: Queries
) -> None:
    both = (migrations.migrate(bare_database, queries, KNOWN) for _ in range(2))
    assert sorted(map(len, await asyncio.gather(*both))) == [0, len(KNOWN)]


async def test_a_failing_migration_leaves_nothing(database: Target, queries: Queries) -> None:
    broken = Migration(NEXT.number, "broken", "CREATE TABLE half (n int); SELECT 1 / 0")
    with pytest.raises(Problem, match="division by zero"):
        await migrations.migrate(database, queries, [*KNOWN, broken])
    assert await migrations.migrate(database, queries, [*KNOWN, NEXT]) == (NEXT,)
    connection = await asyncpg.connect(**database.connect_args)
    assert await connection.fetchval("SELECT to_regclass('half')") is None
    await connection.close()


async def test_a_migration_of_a_version_before_knows_no_needs(
    bare_database: Target, queries: Queries
) -> None:
    await migrations.migrate(bare_database, queries, KNOWN[:1])
    assert await migrations.migrate(bare_database, queries, KNOWN) == KNOWN[1:]


async def test_a_contracting_migration_is_put_off_while_an_older_server_is_live(
    database: Target, queries: Queries
) -> None:
    later = [*KNOWN, NEXT, CONTRACTION]
    await statement(database, LIVE + live_instance("older", KNOWN[-1].number))
    assert await migrations.migrate(database, queries, later) == (NEXT,)
    with pytest.raises(Problem, match=r"these servers still use: old, older\."):
        await migrations.migrate(database, queries, later, must_finish=True)
    await statement(database, GONE + "; DELETE FROM instances")
    assert await migrations.migrate(database, queries, later) == (CONTRACTION,)
    with pytest.raises(Problem, match=", which this Rookery is too"):
        await migrations.migrate(database, queries, KNOWN)
    assert await migrations.migrate(database, queries, [*KNOWN, NEXT]) == ()


async def test_servers_that_are_new_enough_or_gone_do_not_put_it_off(
    database: Target, queries: Queries
) -> None:
    await statement(database, LIVE + live_instance("old", NEXT.number) + gone_instance("gone"))
    both = (NEXT, CONTRACTION)
    assert await migrations.migrate(database, queries, [*KNOWN, *both]) == both


async def test_an_index_that_was_broken_off_is_made_anew(
    database: Target, queries: Queries
) -> None:
    await statement(database, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1), (1)")
    with pytest.raises(asyncpg.UniqueViolationError):
        await statement(database, "CREATE UNIQUE INDEX CONCURRENTLY kept_n ON kept (n)")
    assert await migrations.migrate(database, queries, [*KNOWN, INDEXING]) == (INDEXING,)
    connection = await asyncpg.connect(**database.connect_args)
    found = (
        "SELECT indisvalid AND NOT indisunique FROM pg_index WHERE indexrelid = 'kept_n'::regclass"
    )
    assert await connection.fetchval(found)
    await connection.close()


async def test_a_migration_lets_go_of_writers_that_it_would_hold_up_for_long(
    database: Target, queries: Queries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "HOLD_SECONDS", 0.2)
    monkeypatch.setattr(migrations, "ATTEMPTS", 2)
    monkeypatch.setattr(migrations, "PAUSE_SECONDS", 0.01)
    slow = Migration(NEXT.number, "slow", "SELECT pg_sleep(30)")
    await statement(database, LIVE)
    with pytest.raises(Problem, match="have to wait for it"):
        await migrations.migrate(database, queries, [*KNOWN, slow])
    assert await migrations.migrate(database, queries, [*KNOWN, NEXT]) == (NEXT,)


async def test_a_migration_waits_for_its_locks_in_short_turns(
    database: Target, queries: Queries
) -> None:
    reader = await asyncpg.connect(**database.connect_args)
    transaction = reader.transaction()
    await transaction.start()
    await reader.fetch("SELECT FROM runs")
    held_up = asyncio.Event()
    wider = Migration(NEXT.number, "wider", "ALTER TABLE runs ADD COLUMN later int")
    known = [*KNOWN, wider]

    def log(event: str, /, **_: object) -> None:
        if event == "migration_held_up":
            held_up.set()

    migrating = asyncio.create_task(migrations.migrate(database, queries, known, log=log))
    await held_up.wait()
    # Between two turns nobody has to wait.
    await statement(database, "SELECT FROM runs")
    await transaction.commit()
    assert await migrating == (wider,)
    await reader.close()


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


async def test_an_index_that_needs_an_extension_waits_until_it_can_be_had(
    database: Target, queries: Queries
) -> None:
    head, rest = INDEXING.sql.split(":", 1)
    wanting = Migration(NEXT.number, "index", f"{head} with no_such_thing:{rest}")
    having = Migration(NEXT.number, "index", f"{head} with pg_trgm:{rest}")
    assert wanting.extension == "no_such_thing"
    after = Migration(NEXT.number + 1, "after", "CREATE TABLE later (n int)")
    await statement(database, "CREATE TABLE kept (n int)")
    assert await migrations.migrate(database, queries, [*KNOWN, wanting, after]) == (after,)
    assert await migrations.migrate(database, queries, [*KNOWN, having, after]) == (having,)


async def test_who_blocked_a_machine_before_is_taken_from_the_log(
    bare_database: Target, queries: Queries
) -> None:
    await migrations.migrate(bare_database, queries, KNOWN[:8])
    line = "INSERT INTO actions (at, action, username, worker, message) VALUES (now(), {})"
    for said in (
        "'block_worker', 'olga', 'olga-1', 'blocked'",
        "'block_worker', 'boris', 'olga-1', 'blocked'",
        "'block_worker', 'olga', 'olga-1', 'unblocked'",
        "'block_worker', 'sven', 'sven-1', 'blocked'",
    ):
        await statement(bare_database, line.format(said))
    for machine in ("olga-1", "old-1"):
        insert = f"INSERT INTO blocked_machines VALUES ('{machine}', 'why', now())"
        await statement(bare_database, insert)
    await migrations.migrate(bare_database, queries, KNOWN)
    connection = await asyncpg.connect(**bare_database.connect_args)
    found = await connection.fetch("SELECT short_name, actor FROM blocked_machines")
    await connection.close()
    assert {row["short_name"]: row["actor"] for row in found} == {"olga-1": "boris", "old-1": ""}


async def test_words_are_looked_up_by_an_index(database: Target) -> None:
    wanted = FinishedRunsQuery(text="abcdef1")
    asked = run_filters.finished("SELECT FROM runs WHERE /* conditions */ true", wanted)
    connection = await asyncpg.connect(**database.connect_args)
    # Of an empty table any index would do.
    await connection.execute("DROP INDEX runs_listed, runs_of_owner, runs_flagged, runs_long")
    await connection.execute("SET enable_seqscan = off")
    sql = asked.sql.replace("$3::text", "'%abcdef1%'").replace("$4::text", "'abcdef1'")
    rows = await connection.fetch(f"EXPLAIN {sql}")
    await connection.close()
    assert "runs_by_words" in " ".join(row[0] for row in rows)
