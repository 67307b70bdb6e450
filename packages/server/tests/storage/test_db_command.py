"""`rookery db`, as a person would call it."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.faults.processes import Owner
from tests.forks import run_forked
from tests.process_table import remaining_processes
from tests.rookery_process import COMMAND


def db(*words: str | Path, data: Path, typed: str = "") -> "subprocess.CompletedProcess[str]":
    command = [*COMMAND, "db", *map(str, words), "--data", str(data)]
    return run_forked(command, env=os.environ, typed=typed)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with some rows in its database."""
    data = tmp_path_factory.mktemp("db") / "data"
    with Owner(data, "write") as owner:
        owner.until("kept")
        owner.stop()
    return data


def rows_in(data: Path) -> str:
    query = "\\pset tuples_only\n\\pset format unaligned\n\\o\nSELECT count(*) FROM kept;\n"
    return db("shell", data=data, typed=query).stdout.splitlines()[-1]


def test_a_backup_restores_into_another_folder(used: Path, tmp_path: Path) -> None:
    saved = db("backup", tmp_path / "saved", data=used)
    assert f"Wrote {tmp_path / 'saved'}" in saved.stdout
    restored = db("restore", tmp_path / "saved", data=tmp_path / "other")
    assert restored.returncode == 0
    assert rows_in(tmp_path / "other") == rows_in(used)
    assert remaining_processes(tmp_path / "other") == {}


def test_a_backup_is_made_while_the_server_runs(used: Path, tmp_path: Path) -> None:
    with Owner(used, "write") as owner:
        before = owner.until("kept")["n"]
        assert db("backup", tmp_path / "saved", data=used).returncode == 0
    db("restore", tmp_path / "saved", data=tmp_path / "other")
    assert int(rows_in(tmp_path / "other")) >= before


def test_a_restore_while_the_server_runs_is_refused(used: Path, tmp_path: Path) -> None:
    (tmp_path / "saved").touch()
    with Owner(used) as owner:
        owner.until("open")
        said = db("restore", tmp_path / "saved", "--force", data=used)
    assert said.returncode == 3
    assert said.stderr == (
        f"rookery: The data folder {used} is in use by process {owner.process.pid}: stop that"
        " process first, or choose another folder with --data.\n"
    )


def test_a_restore_over_other_data_is_refused(used: Path, tmp_path: Path) -> None:
    db("backup", tmp_path / "saved", data=used)
    said = db("restore", tmp_path / "saved", data=used)
    assert said.returncode == 3
    assert "give --force" in said.stderr
    assert db("restore", tmp_path / "saved", "--force", data=used).returncode == 0


def test_backups_with_files_are_kept_counted_and_restored_by_name(tmp_path: Path) -> None:
    data, folder = tmp_path / "data", tmp_path / "backups"
    db("migrate", data=data)
    for number in range(3):
        typed = f"CREATE TABLE IF NOT EXISTS kept (n int); INSERT INTO kept VALUES ({number});\n"
        db("shell", data=data, typed=typed)
        time.sleep(1)  # a backup is named after the second in which it began
        assert db("backup", "--folder", folder, "--keep", "2", data=data).returncode == 0
    older, _ = sorted(path.stem for path in folder.glob("*.dump"))
    db("restore", "--folder", folder, data=tmp_path / "newest")
    db("restore", "--folder", folder, "--name", older, data=tmp_path / "older")
    assert (rows_in(tmp_path / "newest"), rows_in(tmp_path / "older")) == ("3", "2")


def test_a_missing_backup_is_named_before_anything_is_made(tmp_path: Path) -> None:
    said = db("restore", tmp_path / "nothing", data=tmp_path / "data")
    assert (said.returncode, (tmp_path / "data").exists()) == (3, False)
    assert f"there is no file {tmp_path / 'nothing'}" in said.stderr


def test_migrating_says_what_it_did(tmp_path: Path) -> None:
    assert "Applied migration 1 (baseline)." in db("migrate", data=tmp_path / "data").stdout
    assert db("migrate", data=tmp_path / "data").stdout == "The schema is up to date.\n"


def test_a_database_of_an_earlier_development_state_is_refused(tmp_path: Path) -> None:
    db("migrate", data=tmp_path)
    db("shell", data=tmp_path, typed="UPDATE schema_migrations SET checksum = 'of the past';\n")
    said = db("migrate", data=tmp_path)
    assert said.returncode == 3
    assert said.stderr == (
        "rookery: The database was made by a development state of Rookery from before 0.1, which"
        " this version cannot read: go on with the version that made it, or start in an empty"
        " folder (--data) or with an empty database (--database-url).\n"
    )
    assert db("backup", tmp_path / "saved", data=tmp_path).returncode == 0


def test_the_schema_is_printed_as_sql(used: Path) -> None:
    printed = db("schema", data=used)
    assert printed.returncode == 0
    assert "CREATE TABLE public.schema_migrations" in printed.stdout
    assert "INSERT" not in printed.stdout
