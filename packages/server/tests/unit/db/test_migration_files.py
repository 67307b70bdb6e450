"""Every migration lets older servers go on, or says that it waits for their end."""

import pytest

from rookery.server.db.migrations import Migration, load_migrations
from tests.unit.db.migration_rules import find_faults

KNOWN = load_migrations()
# The second made the column in which a contracting one is noted.
NOTED_SINCE = 2


def expanding(sql: str) -> Migration:
    return Migration(9, "next", f"-- expand: what the test is about.\n{sql}")


def concurrent(sql: str) -> Migration:
    return Migration(9, "next", f"-- expand concurrently: an index.\n{sql}")


@pytest.mark.parametrize("migration", KNOWN[1:], ids=lambda each: f"{each.number:04}")
def test_older_servers_go_on_beside_it(migration: Migration) -> None:
    assert find_faults(migration) == []


def test_a_contracting_one_names_one_before_it() -> None:
    contracting = [each for each in KNOWN if each.needs]
    assert [each for each in contracting if not NOTED_SINCE <= each.needs < each.number] == []


def test_numbers_have_no_gap() -> None:
    assert [each.number for each in KNOWN] == list(range(1, len(KNOWN) + 1))


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE runs;",
        "ALTER TABLE runs DROP COLUMN plan;",
        "ALTER TABLE runs RENAME TO tests;",
        "ALTER TABLE runs ALTER COLUMN flag TYPE bigint;",
        "ALTER TABLE runs ALTER COLUMN flag SET NOT NULL;",
        "ALTER TABLE runs ADD COLUMN a int DEFAULT 1, ADD COLUMN b int NOT NULL;",
        "ALTER TABLE runs ADD CHECK (flag > 0);",
        "ALTER TABLE runs ADD COLUMN n bigserial;",
        "CREATE UNIQUE INDEX one_of_each ON runs (plan);",
        "CREATE INDEX runs_by_plan ON runs (plan);",
        "DELETE FROM actions;",
        "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1';",
    ],
)
def test_what_would_disturb_older_servers_is_found(sql: str) -> None:
    assert find_faults(expanding(sql)) != []


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE a (n int NOT NULL UNIQUE); CREATE INDEX a_n ON a (n);",
        "ALTER TABLE runs ADD COLUMN a int NOT NULL DEFAULT 0, ADD COLUMN b text;",
        "-- DROP is only spoken of.\nCOMMENT ON TABLE runs IS 'nobody may DROP it';",
        "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DELETE FROM a; END $$;",
        "INSERT INTO keys (name) VALUES ('seal') ON CONFLICT DO NOTHING;",
    ],
)
def test_what_older_servers_do_not_notice_is_let_through(sql: str) -> None:
    assert find_faults(expanding(sql)) == []


def test_indexes_of_tables_in_use_are_made_beside_writers() -> None:
    named = "CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_by_plan ON runs (plan);"
    assert find_faults(concurrent(named)) == []
    assert find_faults(concurrent(named.replace("IF NOT EXISTS ", ""))) != []
    assert find_faults(concurrent("ALTER TABLE runs ADD COLUMN a int;")) != []


def test_a_file_that_does_not_say_of_what_kind_it_is_is_refused() -> None:
    assert find_faults(Migration(9, "next", "CREATE TABLE a (n int);")) != []
