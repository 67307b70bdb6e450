"""Several servers on one database: one is primary, the others serve pages and take over."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rookery.db.target import Target
from tests.rookery_process import RookeryProcess, run_rookery

TAKEOVER_SECONDS = 5.0
PAGES = ("/", "/tests", "/machines", "/contributors", "/api/v1/runs", "/server", "/login")


@contextmanager
def two_servers(database: Target, folder: Path) -> Iterator[tuple[RookeryProcess, RookeryProcess]]:
    """The first is primary, the second stands by."""
    shared = {"ROOKERY_DATABASE_URL": database.dsn}
    with run_rookery(folder / "first", settings=shared) as first:
        first.until("ready")
        with run_rookery(folder / "second", settings=shared) as second:
            second.until("ready")
            yield first, second


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
