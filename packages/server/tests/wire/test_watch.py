"""`rookery watch` against a real server process on twins."""

import io
import json
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from rookery.cli import main as frame
from rookery.core.client.client import Client
from rookery.server.commands.up import follow_demo
from tests.forks import Fork
from tests.rookery_process import COMMAND, environment
from tests.submissions import SPRT, body
from tests.wire.processes import Server


class Heard(io.StringIO):
    """What is said; at the first word something is done."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__()
        self._acts = [act]

    def write(self, text: str) -> int:
        if self._acts:
            self._acts.pop()()
        return super().write(text)


def test_a_run_is_watched_to_its_end(
    server: Server, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = client.submit(body(sprt=SPRT)).id
    # Nothing is said before the end; what is said then is the same whenever it comes.
    timer = threading.Timer(0.3, client.stop, [run_id])
    timer.start()
    assert frame.main(["watch", run_id, "--server", server.address]) == 4
    timer.join()
    said = capsys.readouterr().out
    assert "LLR       +0.000 in (-2.94, 2.94)" in said
    assert said.endswith("The run is finished: undecided.\n")


def test_the_first_test_of_an_installation_is_followed_to_its_end(client: Client) -> None:
    run_id, said = client.submit(body(sprt=SPRT)).id, list[str]()
    threading.Timer(0.1, client.stop, [run_id]).start()
    follow_demo(client, run_id, said.append, threading.Event())
    assert said == ["The first test has ended without passing, after 0 games."]


def test_scripts_get_each_change_as_a_line(server: Server, client: Client) -> None:
    run_id = client.submit(body(num_games=2)).id
    with redirect_stdout(Heard(lambda: client.stop(run_id))) as heard:
        assert frame.main(["watch", run_id, "--json", "--server", server.address]) == 0
    states = [json.loads(line)["state"] for line in heard.getvalue().splitlines()]
    assert states == ["pending", "finished"]


def test_an_unknown_run_is_told(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert frame.main(["watch", "f" * 24, "--server", server.address]) == 3
    assert "(404)" in capsys.readouterr().err


def test_an_interrupt_ends_it_quietly(server: Server, client: Client, tmp_path: Path) -> None:
    run_id = client.submit(body()).id
    words = [*COMMAND, "watch", run_id, "--json", "--server", server.address]
    complaints = tmp_path / "complaints"
    with complaints.open("wb") as file:
        watching = Fork(words, env=environment(), stdout=subprocess.PIPE, stderr=file)
    assert watching.stdout is not None
    with watching.stdout as said:
        try:
            assert json.loads(said.readline())["id"] == run_id
            watching.send_signal(signal.SIGINT)
            assert watching.wait(60) == 130
        finally:
            watching.kill()
            watching.wait()
    assert complaints.read_bytes() == b""
