"""A start on what is left of a farm says what is wrong and what to do."""

import shutil
from pathlib import Path

import pytest

from tests.commands import add_user, run_command
from tests.rookery_process import COMMAND, run_rookery
from tests.storage.test_embedded import on_disk

PAGE = 8192
NEW_ON_40_MB = "size=40m"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with run_rookery(tmp_path / "data") as server:
        server.until("ready")
        server.stop()
    return server.data


def complaint_of(data: Path) -> str:
    with run_rookery(data, detect=False) as server:
        said = server.complaint()
        assert server.process.returncode == 3
    return said


def flip_pages_of(database: Path) -> None:
    """Destroy the pages of every table and index of the user's."""
    for file in database.iterdir():
        if file.name.isdigit() and int(file.name) >= 16384:
            file.write_bytes(bytes(byte ^ 255 for byte in file.read_bytes()))


def test_damaged_pages_are_told_with_what_to_do(data: Path) -> None:
    for database in (data / "database" / "postgres" / "base").iterdir():
        flip_pages_of(database)
    said = complaint_of(data)
    assert "The database's files are damaged (invalid page in block" in said
    assert "rookery db restore" in said


def test_files_whose_database_is_gone_are_not_taken_for_an_empty_farm(data: Path) -> None:
    (data / "blobs" / "nets").mkdir(parents=True, exist_ok=True)
    (data / "blobs" / "nets" / "a").write_bytes(b"a net")
    shutil.rmtree(data / "database")
    assert "has files of a farm but no database" in complaint_of(data)
    added = run_command("user", "list", data=data)
    assert "There is no database" in added.stderr
    assert not (data / "database" / "postgres").exists()


def test_a_new_farm_begins_in_a_folder_without_files(data: Path) -> None:
    shutil.rmtree(data / "database")
    add_user("olga", data)


def test_a_disk_that_is_full_at_the_first_start_is_told(tmp_path: Path) -> None:
    command = (*on_disk(tmp_path / "small", NEW_ON_40_MB), *COMMAND)
    with run_rookery(tmp_path / "small" / "data", command=command, detect=False) as server:
        said = server.complaint()
    assert "No space is left on the disk" in said
