"""kill -9 of the server, its supervisor, the postmaster or a backend, each alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.processes import Owner, backends_of, kill, wait_until_gone
from tests.process_table import processes_of, remaining_processes


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder that goes from kill to kill, as it would in the world."""
    return tmp_path_factory.mktemp("kills") / "the data"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "the data"


@pytest.fixture
def writer(used: Path) -> Iterator[Owner]:
    """A server that writes without a pause."""
    with Owner(used, "write") as owner:
        owner.until("kept")
        yield owner


def rows_after_restart(data: Path) -> int:
    with Owner(data, "write") as owner:
        said = owner.until("resumed")
        assert said["rows"] == said["last"]
        return int(said["last"])


def acknowledged(owner: Owner) -> int:
    """The last row that it said was kept, also in what it said just before it died."""
    owner.rest()
    return int(owner.facts["n"])


def test_a_killed_server_leaves_nothing_behind(writer: Owner) -> None:
    writer.kill()
    wait_until_gone(writer.data)


def test_a_killed_server_loses_nothing_that_was_acknowledged(writer: Owner) -> None:
    writer.kill()
    assert rows_after_restart(writer.data) >= acknowledged(writer)


def test_a_killed_server_can_be_started_again_at_once(writer: Owner) -> None:
    writer.kill()
    with Owner(writer.data) as again:
        again.until("open")


@pytest.mark.parametrize("victim", ["supervisor", "postmaster", "backend"])
def test_the_running_server_recovers(writer: Owner, victim: str) -> None:
    pids = {"backend": backends_of(writer.facts["postmaster"])[0], **writer.facts}
    before = writer.facts["n"]
    kill(pids[victim])
    writer.until("interrupted")
    assert writer.until("resumed")["last"] >= before
    assert writer.until("kept")["n"] > before
    assert writer.stop() == 0
    assert remaining_processes(writer.data) == {}


def test_everything_killed_at_once_starts_again(writer: Owner) -> None:
    for pid in (writer.process.pid, *processes_of(writer.data)):
        kill(pid)
    writer.process.wait()
    assert rows_after_restart(writer.data) >= acknowledged(writer)


def test_the_next_supervisor_waits_for_the_postgres_of_the_last_one(writer: Owner) -> None:
    kill(writer.facts["supervisor"])
    writer.kill()
    with Owner(writer.data) as again:
        again.until("open")


def test_a_server_killed_during_initdb_starts_again(data: Path) -> None:
    with Owner(data) as owner:
        owner.until("database_initialising")
        owner.kill()
    assert not (data / "database" / "postgres").exists()
    with Owner(data) as again:
        again.until("open")
        assert again.stop() == 0


def test_a_supervisor_killed_during_initdb_is_replaced(data: Path) -> None:
    with Owner(data) as owner:
        owner.until("database_initialising")
        kill(
            next(pid for pid, words in processes_of(data).items() if "embedded.supervisor" in words)
        )
        owner.until("open")
        assert owner.stop() == 0


def test_a_server_killed_while_postgres_starts_starts_again(used: Path) -> None:
    with Owner(used) as owner:
        owner.until("database_account")
        owner.kill()
    with Owner(used) as again:
        again.until("open")


@pytest.mark.parametrize("moment", ["migration_begins", "migration_before_commit"])
def test_a_server_killed_during_a_migration_migrates_at_the_next_start(
    data: Path, moment: str
) -> None:
    with Owner(data, "migrate", moment) as owner:
        assert owner.process.wait(60) == -9
    with Owner(data, "migrate") as again:
        assert again.until("migrated")["numbers"][0] == 1
