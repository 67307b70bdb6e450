"""The embedded server: starts in odd places, and says what is wrong where it cannot."""

import os
import re
import signal
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.processes import Owner, kill
from tests.process_table import processes_of

MOUNT = 'mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@"'


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder on which a server has run and was stopped."""
    data = tmp_path_factory.mktemp("embedded") / "data"
    assert start_and_stop(data)
    return data


@pytest.fixture
def settings(used: Path) -> Iterator[Path]:
    """The file for an operator's own settings, taken away after the test."""
    yield used / "database" / "postgres" / "local.conf"
    (used / "database" / "postgres" / "local.conf").unlink()


def start_and_stop(data: Path) -> dict[str, str]:
    with Owner(data) as owner:
        owner.until("open")
        assert owner.stop() == 0
        return owner.facts


def problem_with(data: Path, prefix: tuple[str, ...] = ()) -> str:
    """The problem's sentence, which must be a whole one."""
    owner = Owner(data, prefix=prefix)
    try:
        said = owner.until("problem")
        assert owner.process.wait() == 3
    finally:
        owner.end()
    assert re.fullmatch(r"[A-Z].*\.", said["sentence"])
    return str(said["sentence"])


def on_disk(folder: Path, options: str) -> tuple[str, ...]:
    """Runs a command with a disk of its own on the folder, which nobody else sees."""
    folder.mkdir()
    unshare = ("unshare", "--user", "--map-root-user", "--mount")
    return (*unshare, "sh", "-c", MOUNT, "sh", options, str(folder))


def test_the_folder_is_for_this_account_alone(used: Path) -> None:
    folders = (used, used / "database", used / "database" / "socket")
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


def test_a_path_may_be_long_and_full_of_odd_characters(tmp_path: Path) -> None:
    data = tmp_path / 'it\'s, "quoted" — and long' / ("x" * 90)
    socket = Path(start_and_stop(data)["socket"])
    assert len(str(socket)) < 90
    assert not socket.exists()


def test_the_short_folder_of_a_killed_server_is_taken_again(tmp_path: Path) -> None:
    data = tmp_path / ("x" * 90)
    with Owner(data) as owner:
        first = owner.until("database_ready")["socket"]
        # The owner is a fork of the tests and not found by its words.
        found = [owner.process.pid, *processes_of(data)]
        for pid in found:
            # Stopped before any is killed: a supervisor that sees its owner die tidies up,
            # and an owner that sees its supervisor die starts another.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        for pid in found:
            kill(pid)
    assert start_and_stop(data)["socket"] == first


def test_a_second_server_on_the_folder_names_the_first(used: Path) -> None:
    with Owner(used) as first:
        first.until("open")
        sentence = problem_with(used)
        assert f"in use by process {first.process.pid}:" in sentence
        assert first.stop() == 0


def test_a_number_that_is_someone_elses_now_does_not_stop_the_start(used: Path) -> None:
    ours = str(os.getpid())
    (used / "database" / "postgres" / "postmaster.pid").write_text(f"{ours}\n/\n0\n5432\n")
    (used / "database" / "socket" / ".s.PGSQL.5432.lock").write_text(f"{ours}\n")
    assert start_and_stop(used)


def test_ctrl_c_is_for_the_owner_alone(used: Path) -> None:
    with Owner(used) as owner:
        owner.until("open")
        os.kill(int(owner.facts["supervisor"]), signal.SIGINT)
        assert owner.stop() == 0


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sentence = problem_with(tmp_path / "file" / "data")
    assert f"because {tmp_path / 'file'} is a file" in sentence


def test_a_folder_that_cannot_be_made_is_named() -> None:
    assert "/proc/rookery cannot be made (" in problem_with(Path("/proc/rookery"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    prefix = on_disk(tmp_path / "disk", "ro")
    sentence = problem_with(tmp_path / "disk", prefix)
    assert "cannot be written (Read-only file system)" in sentence


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    prefix = on_disk(tmp_path / "disk", "size=8m")
    assert "No space is left on the disk" in problem_with(tmp_path / "disk", prefix)


def test_data_of_another_version_is_named(used: Path) -> None:
    file = used / "database" / "postgres" / "PG_VERSION"
    file.write_text("17\n")
    sentence = problem_with(used)
    file.write_text("18\n")
    assert "written by PostgreSQL 17, but this is PostgreSQL 18" in sentence


def test_data_of_another_account_is_named(tmp_path: Path) -> None:
    cluster = tmp_path / "database" / "postgres"
    cluster.parent.mkdir()
    if os.geteuid() == 0:
        cluster.mkdir()
        os.chown(cluster, 4321, 4321)
    else:
        cluster.symlink_to("/")  # root's
    sentence = problem_with(tmp_path)
    assert "belongs to the account" in sentence
    assert ("number 4321" if os.geteuid() == 0 else "root") in sentence


def test_a_folder_without_a_database_in_its_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "database" / "postgres").mkdir(parents=True)
    assert "something other than a PostgreSQL database" in problem_with(tmp_path)


@pytest.mark.parametrize("setting", ["fsync", "synchronous_commit", "full_page_writes"])
def test_a_setting_that_can_lose_results_is_refused(
    used: Path, settings: Path, setting: str
) -> None:
    settings.write_text(f"{setting} = off\n")
    sentence = problem_with(used)
    assert f"runs with {setting} off" in sentence


def test_a_server_that_does_not_start_says_why(used: Path, settings: Path) -> None:
    settings.write_text("no_such_setting = 1\n")
    sentence = problem_with(used)
    assert sentence.startswith("PostgreSQL does not start:")
    assert "postgres.log" in sentence


def test_a_server_that_keeps_crashing_is_given_up(used: Path, settings: Path) -> None:
    with Owner(used) as owner:
        owner.until("open")
        settings.write_text("no_such_setting = 1\n")
        kill(owner.facts["postmaster"])
        assert owner.until("problem")["sentence"].startswith("PostgreSQL failed to start 5 times")


def test_a_supervisor_that_keeps_dying_is_given_up(used: Path) -> None:
    with Owner(used) as owner:
        while (said := owner.next())["event"] != "problem":
            if said["event"] == "database_supervisor_started":
                kill(said["supervisor"])
        assert said["sentence"].startswith("The supervisor of the database ended")
