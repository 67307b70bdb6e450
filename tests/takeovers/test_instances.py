"""Several servers on one database: one is primary, the others serve pages and take over."""

import json
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from rookery.core.client.client import Client
from rookery.core.model.plan import Modification
from rookery.server.db.target import Target
from tests.commands import add_user, run_command
from tests.faults.test_events import Reading
from tests.rookery_process import RookeryProcess, run_rookery
from tests.submissions import SPRT, body

TAKEOVER_SECONDS = 15.0
"""Five on a machine that does nothing else (scripts/prove takeover); these tests share theirs."""
PAGES = ("/", "/tests", "/machines", "/contributors", "/api/v1/runs", "/server", "/login")


@contextmanager
def two_servers(
    database: Target, folder: Path, more: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple[RookeryProcess, RookeryProcess]]:
    """The first is primary, the second stands by; both have these settings."""
    shared = {"ROOKERY_DATABASE_URL": database.dsn, **more}
    with run_rookery(folder / "first", settings=shared) as first:
        first.until("ready")
        with run_rookery(folder / "second", settings=shared) as second:
            second.until("ready")
            yield first, second


def name_of(server: RookeryProcess, shared: Mapping[str, str]) -> str:
    """Its name among the servers on the database."""
    shown = run_command("status", "--json", data=server.data, settings=shared).stdout
    names = {each["address"]: str(each["name"]) for each in json.loads(shown)["instances"]}
    return names[server.address]


def role_of(server: RookeryProcess) -> str:
    status, text = server.get("/readyz")
    assert status == 200, text
    return str(json.loads(text)["role"])


def test_a_second_server_stands_by_and_serves_pages(database: Target, tmp_path: Path) -> None:
    with two_servers(database, tmp_path) as (first, second):
        assert (role_of(first), role_of(second)) == ("primary", "secondary")
        found = {path: second.get(path)[0] for path in PAGES}
        assert found == dict.fromkeys(PAGES, 200)


def test_a_killed_primary_is_taken_over_from_within_seconds(
    database: Target, tmp_path: Path
) -> None:
    with two_servers(database, tmp_path) as (first, second):
        first.kill()
        began = time.monotonic()
        second.until("fleet_rebuilt")
        assert time.monotonic() - began < TAKEOVER_SECONDS
        assert role_of(second) == "primary"


def test_a_primary_steps_down_and_another_is_primary_at_once(
    database: Target, tmp_path: Path
) -> None:
    shared = {"ROOKERY_DATABASE_URL": database.dsn}
    with two_servers(database, tmp_path) as (first, second):
        shown = run_command("status", data=tmp_path / "first", settings=shared).stdout
        assert ("primary" in shown, "secondary" in shown) == (True, True)
        said = run_command("step-down", data=tmp_path / "first", settings=shared)
        assert "is primary now" in said.stdout
        assert (role_of(first), role_of(second)) == ("secondary", "primary")


def test_a_primary_steps_down_for_the_server_that_is_named(
    database: Target, tmp_path: Path
) -> None:
    shared = {"ROOKERY_DATABASE_URL": database.dsn}
    with (
        two_servers(database, tmp_path) as (first, second),
        run_rookery(tmp_path / "third", settings=shared) as third,
    ):
        third.until("ready")
        for server in (third, second, third):
            words = ("step-down", "--to", name_of(server, shared))
            said = run_command(*words, data=tmp_path / "first", settings=shared)
            assert said.returncode == 0, said.stderr
            assert role_of(server) == "primary"
        assert role_of(first) == "secondary"


def test_who_asks_for_a_step_down_is_told_when_nobody_takes_over(
    database: Target, tmp_path: Path
) -> None:
    """The other server was heard of a moment ago, and hangs."""
    shared = {"ROOKERY_DATABASE_URL": database.dsn}
    with two_servers(database, tmp_path) as (first, second):
        second.process.send_signal(signal.SIGSTOP)
        try:
            said = run_command("step-down", data=tmp_path / "first", settings=shared)
        finally:
            second.process.send_signal(signal.SIGCONT)
        assert said.returncode != 0
        assert "is primary again" in said.stderr
        assert role_of(first) == "primary"


def test_a_primary_that_is_stopped_hands_over_before_it_ends(
    database: Target, tmp_path: Path
) -> None:
    with two_servers(database, tmp_path) as (first, second):
        assert first.stop() == 0
        told = [each["event"] for each in first.events()]
        assert told.index("stepped_down") < told.index("stopping")
        assert role_of(second) == "primary"


def test_a_stream_of_events_goes_on_over_a_takeover_and_misses_nothing(
    database: Target, tmp_path: Path
) -> None:
    shared = {"ROOKERY_DATABASE_URL": database.dsn}
    with two_servers(database, tmp_path) as (first, second):
        add_user("boris", first.data, "--approver", settings=shared)
        made = run_command("token", "create", "--user", "boris", data=first.data, settings=shared)
        token = made.stdout.splitlines()[-1]
        client = Client.at(first.address, token)
        run = client.submit(body(sprt=SPRT)).id
        reading = Reading(second.address, f"?run={run}")
        client.modify(run, Modification(priority=7))
        reading.until(lambda told: told.priority == 7)
        client.modify(run, Modification(priority=8))
        # Most likely before it has told anybody.
        first.kill()
        reading.until(lambda told: told.priority == 8)
        Client.at(second.address, token).modify(run, Modification(priority=9))
        reading.until(lambda told: told.priority == 9)
