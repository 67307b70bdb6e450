"""`rookery demo serve`: an invented farm that goes on, and no other."""

import re
import time
from pathlib import Path

from tests.commands import run_command
from tests.rookery_process import COMMAND, LIMIT_SECONDS, RookeryProcess, run_rookery

SMALL = ("demo", "seed", "--runs", "12", "--machines", "20", "--history", "3")


def test_a_seeded_farm_goes_on_and_every_page_says_what_it_is(tmp_path: Path) -> None:
    data = tmp_path / "farm"
    seeded = run_command(*SMALL, data=data)
    assert seeded.returncode == 0, seeded.stderr
    with run_rookery(data, "serve", command=(*COMMAND, "demo")) as server:
        for path in ("/", "/machines", "/nowhere"):
            assert "Demo data" in server.get(path)[1]
        before = count_games(server)
        deadline = time.monotonic() + LIMIT_SECONDS
        while count_games(server) == before:
            assert time.monotonic() < deadline, "nobody plays"
            time.sleep(0.2)
        assert server.blockages() == []


def count_games(server: RookeryProcess) -> float:
    """In the tests that are under way."""
    found = re.search(r"^rookery_games_counted (\S+)", server.get("/metrics")[1], re.MULTILINE)
    assert found
    return float(found[1])


def test_a_farm_is_not_filled_while_a_server_runs_on_it(tmp_path: Path) -> None:
    data = tmp_path / "farm"
    with run_rookery(data) as server:
        server.until("ready")
        refused = run_command(*SMALL, data=data)
        assert refused.returncode == 3
        assert "A server is running on this database" in refused.stderr
        assert not [each for each in server.events() if each["event"] == "primacy_lost"]
        assert "alva" not in run_command("user", "list", data=data).stdout


def test_a_farm_of_real_people_is_not_served_as_an_invented_one(tmp_path: Path) -> None:
    data = tmp_path / "farm"
    with run_rookery(data) as server:
        server.until("ready")
        server.stop()
    refused = run_command("demo", "serve", data=data)
    assert refused.returncode == 3
    assert "was not made by `rookery demo seed`" in refused.stderr
