"""`rookery up` with its worker and its first test: one command, one end."""

import json
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running import processes_of, remaining
from tests.served import LIMIT_SECONDS, Served, served


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "the data"


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def worker_of(data: Path) -> bool:
    return any("rookery.cli.main worker" in line for line in processes_of(data).values())


def games_of(server: Served) -> int:
    runs = json.loads(server.get("/api/v1/runs")[1])["runs"]
    return sum(run["results"]["wins"] + run["results"]["losses"] for run in runs)


@pytest.mark.timeout(300)
def test_one_command_plays_a_first_test_and_one_signal_ends_it(data: Path) -> None:
    with served(data, "up", "--concurrency=1") as first:
        until(lambda: games_of(first))
        assert first.stop(signal.SIGINT) == 0
        assert remaining(data) == {}
        assert "A first test is being played" in first.said()
    token = data / "local-worker.token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    before = token.read_text()
    with served(data, "up", "--no-worker") as second:
        runs = json.loads(second.get("/api/v1/runs")[1])["runs"]
        assert [run["workers"] for run in runs] == [0]
        second.stop()
    assert token.read_text() == before


def test_a_worker_does_not_outlive_the_server_it_was_started_with(data: Path) -> None:
    with served(data, "up", "--no-demo") as server:
        until(lambda: worker_of(data))
        server.kill()
        assert remaining(data) == {}
