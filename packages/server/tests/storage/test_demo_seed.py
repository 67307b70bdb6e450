"""`rookery demo seed`, as a person would call it."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from rookery.server.db.target import Target
from tests.commands import run_command
from tests.database import statement

SMALL = ("demo", "seed", "--runs", "3", "--machines", "5", "--history", "2")


def test_only_an_empty_farm_is_filled(tmp_path: Path) -> None:
    data = tmp_path / "farm"
    first = run_command(*SMALL, data=data)
    assert first.returncode == 0, first.stderr
    assert "Wrote 2 finished runs and 3 others with 5 machines." in first.stdout
    second = run_command(*SMALL, data=data)
    assert second.returncode == 3
    assert "a demo needs an empty one" in second.stderr


def asked(query: str, data: Path) -> list[str]:
    """The rows of an answer."""
    settings = "\\pset tuples_only\n\\pset format unaligned\n"
    said = run_command("db", "shell", data=data, typed=f"{settings}{query};\n").stdout
    return said.splitlines()[2:]


HISTORY = "SELECT plan ->> 'tc', wins, losses, draws FROM runs WHERE finished ORDER BY created"


def test_a_demo_is_as_large_as_is_asked_for_and_the_same_for_the_same_number(
    tmp_path: Path,
) -> None:
    histories = []
    for folder, chance in (("a", "1"), ("b", "1"), ("c", "2")):
        words = ("--runs", "3", "--machines", "5", "--history", "4", "--chance", chance)
        assert run_command("demo", "seed", *words, data=tmp_path / folder).returncode == 0
        histories.append(asked(HISTORY, tmp_path / folder))
    assert histories[0] == histories[1] != histories[2]
    assert len(histories[0]) == 4
    data = tmp_path / "a"
    assert asked("SELECT count(*) FROM runs WHERE NOT finished", data) == ["3"]
    assert asked("SELECT count(DISTINCT machine ->> 'unique_key') FROM tasks", data) == ["5"]


END_ITS_SESSIONS = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND EXISTS (SELECT FROM runs)
"""


@pytest.mark.anyio
async def test_a_demo_that_breaks_off_says_why(database: Target, tmp_path: Path) -> None:
    words = ("demo", "seed", "--runs", "200", "--machines", "50", "--history", "500")
    settings = {"ROOKERY_DATABASE_URL": database.dsn}
    run = partial(run_command, *words, data=tmp_path / "farm", settings=settings)
    seeding = asyncio.create_task(asyncio.to_thread(run))
    while not seeding.done():
        await statement(database, END_ITS_SESSIONS)
        await asyncio.sleep(0.05)
    done = await seeding
    assert done.returncode == 3
    assert "rookery: The demo broke off: " in done.stderr
    assert "Traceback" not in done.stderr
