"""kill -9 of `rookery serve` at any moment: nothing stays behind and the next start works."""

import sys
from pathlib import Path

import pytest

from tests.faults.processes import kill, wait_until_gone
from tests.rookery_process import run_rookery

DYING = (sys.executable, "-m", "tests.faults.dying_serve")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "the data"


def starts_again(data: Path) -> None:
    with run_rookery(data) as again:
        assert again.get("/readyz") == (200, '{"ready":true,"role":"primary"}')
        assert again.stop() == 0
    wait_until_gone(data)


@pytest.mark.parametrize(
    "event", ["database_initialising", "database_ready", "migration_applied", "ready"]
)
def test_a_serve_that_was_killed_during_its_start_starts_again(data: Path, event: str) -> None:
    with run_rookery(data, first=True) as server:
        server.until(event)
        server.kill()
    wait_until_gone(data)
    starts_again(data)


@pytest.mark.parametrize("moment", ["migration_begins", "migration_before_commit"])
def test_a_serve_that_died_in_a_migration_starts_again(data: Path, moment: str) -> None:
    with run_rookery(data, "serve", command=(*DYING, moment)) as server:
        assert server.process.wait(60) == -9
    starts_again(data)


def test_a_second_serve_on_the_folder_says_who_has_it(data: Path) -> None:
    with run_rookery(data) as first:
        first.until("ready")
        # Without detection: what it hangs into built-in types crashes Python 3.11.2 as it exits.
        with run_rookery(data, "serve", detect=False) as second:
            assert str(first.process.pid) in second.complaint()
            assert second.process.returncode == 3
        assert first.get("/readyz")[0] == 200


def test_the_server_outlives_its_postmaster(data: Path) -> None:
    with run_rookery(data) as server:
        server.until("ready")
        kill(str(server.until("database_ready")["postmaster"]))
        server.until("database_ready", count=2)
        while server.get("/readyz")[0] != 200:
            assert server.get("/healthz")[0] == 200
        assert server.stop() == 0


def test_a_hiccup_of_the_database_is_a_warning_without_a_stack_trace(data: Path) -> None:
    with run_rookery(data, detect=False) as server:
        server.until("ready")
        kill(str(server.until("database_ready")["postmaster"]))
        server.until("database_ready", count=2)
        while server.get("/readyz")[0] != 200:
            server.get("/")
        server.stop()
        assert server.until("database_down")["level"] == "warning"
        assert [one for one in server.events() if one["level"] == "error"] == []
        assert [one for one in server.events() if "exception" in one] == []


def test_a_database_that_does_not_come_back_ends_the_server(data: Path) -> None:
    with run_rookery(data) as server:
        server.until("ready")
        (data / "database" / "postgres" / "global" / "pg_control").unlink()
        kill(str(server.until("database_ready")["postmaster"]))
        server.until("database_given_up")
        assert server.process.wait(60) == 1
    wait_until_gone(data)
