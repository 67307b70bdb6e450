"""`rookery up` with its worker and its first test: one command, one end."""

import json
import os
import pty
import signal
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.places import PROJECT
from tests.process_table import processes_of, remaining_processes
from tests.rookery_process import COMMAND, LIMIT_SECONDS, RookeryProcess, environment, run_rookery

SIGN = b"Ctrl-C stops everything."
KEEPER = "commands.local_worker"


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


def games_of(server: RookeryProcess) -> int:
    runs = json.loads(server.get("/api/v1/runs")[1])["runs"]
    return sum(run["results"]["wins"] + run["results"]["losses"] for run in runs)


@pytest.mark.timeout(300)
def test_one_command_plays_a_first_test_and_one_signal_ends_it(data: Path) -> None:
    with run_rookery(data, "up", "--concurrency=1", first=True) as first:
        until(lambda: games_of(first))
        assert first.stop(signal.SIGINT) == 0
        assert remaining_processes(data) == {}
        assert "A first test is being played" in first.said()
    token = data / "local-worker.token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    before = token.read_text()
    with run_rookery(data, "up", "--no-worker") as second:
        runs = json.loads(second.get("/api/v1/runs")[1])["runs"]
        assert [run["workers"] for run in runs] == [0]
        second.stop()
    assert token.read_text() == before


def test_neither_a_test_nor_a_worker_is_there_where_none_is_wanted(data: Path) -> None:
    with run_rookery(data, "up", "--no-worker", "--no-demo", first=True) as server:
        assert json.loads(server.get("/api/v1/runs")[1])["runs"] == []
        server.stop()
        assert "first test" not in server.said()
        assert "worker plays" not in server.said()
    assert not (data / "local-worker.token").exists()


def test_the_worker_plays_on_the_cores_and_in_the_way_that_is_asked_for(data: Path) -> None:
    words = ("--no-demo", "--concurrency=2", "--without-sandbox")
    with run_rookery(data, "up", *words):
        until(lambda: worker_pids(data))
        (line,) = [processes_of(data)[pid] for pid in worker_pids(data)]
    assert {"--concurrency=2", "--without-sandbox"} <= set(line.split())


def test_a_worker_does_not_outlive_the_server_it_was_started_with(data: Path) -> None:
    with run_rookery(data, "up", "--no-demo") as server:
        until(lambda: worker_of(data))
        server.kill()
        assert remaining_processes(data) == {}


def worker_pids(data: Path) -> set[int]:
    found = processes_of(data).items()
    return {
        pid
        for pid, line in found
        if "cli.main worker" in line and "commands.local_worker" not in line
    }


def keeper_pids(data: Path) -> set[int]:
    return {pid for pid, line in processes_of(data).items() if KEEPER in line}


def test_a_worker_that_dies_is_started_again_and_that_is_said(data: Path) -> None:
    with run_rookery(data, "up", "--no-demo") as server:
        until(lambda: worker_pids(data))
        (first,) = worker_pids(data)
        os.kill(first, signal.SIGKILL)
        until(lambda: worker_pids(data) - {first})
        (keeper,) = keeper_pids(data)
        os.kill(keeper, signal.SIGKILL)
        until(lambda: keeper_pids(data) - {keeper} and worker_pids(data))
        assert server.stop(signal.SIGINT) == 0
        assert remaining_processes(data) == {}
        said = server.said()
    assert "The worker ended by signal 9; it is started again in" in said
    assert "The worker's keeper ended by signal 9; it is started again in" in said
    assert said.endswith("Stopped.\n")


def at_a_terminal(data: Path, *words: str) -> tuple[int, str]:
    """The exit code and all that a person sees of a start and, at its sign of readiness, a stop."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "up", "--port=0", f"--data={data}", *words],
        cwd=PROJECT,
        env=environment() | {"TERM": "xterm", "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    try:
        while piece := _read(ours):
            stops = SIGN not in seen and SIGN in seen + piece
            seen += piece
            if stops:
                process.send_signal(signal.SIGINT)
        return process.wait(LIMIT_SECONDS), seen.decode()
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _read(terminal: int) -> bytes:
    """Nothing once nobody holds the other end."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def test_a_terminal_shows_progress_a_box_and_no_log(data: Path) -> None:
    code, seen = at_a_terminal(data, "--no-worker", "--no-demo")
    assert code == 0, seen
    assert "Making a database" in seen
    box = seen[seen.index("╭") : seen.index("╯")]
    for sentence in (
        "Rookery is ready at http://127.0.0.1:",
        "Log in as admin with the password",
        f"The data is in {data}",
        f"The log is {data / 'rookery.log'}",
        "Ctrl-C stops everything.",
    ):
        assert sentence in box
    assert "Stopped." in seen[seen.index("╯") :]
    log = (data / "rookery.log").read_text()
    assert "ready" in log
    assert not any(line and line in seen for line in log.splitlines())
    assert "Traceback" not in seen


def test_the_same_sentences_come_without_a_terminal(data: Path) -> None:
    with run_rookery(data, "up", "--no-worker", "--no-demo") as server:
        server.until("ready")
        assert server.stop(signal.SIGINT) == 0
        said = server.said().splitlines()
        assert f"The log is {data / 'rookery.log'}" in said
        assert f"The data is in {data}" in said
        assert said[-1] == "Stopped."
        assert '"event": "ready"' in (data / "rookery.log").read_text()
