"""`rookery watch` against a real server process on twins."""

import json
import subprocess
import threading
from collections.abc import Callable

import pytest

from rookery.cli import main as frame
from rookery.client import Client
from tests.served import COMMAND, PROJECT, environment
from tests.unit.service.submission.samples import SPRT, body
from tests.wire.app_under_test import KNOWN_TOKEN
from tests.wire.processes import Server


@pytest.fixture
def client(server: Server) -> Client:
    return Client.at(server.address, KNOWN_TOKEN.secret)


def soon(act: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(0.3, act)
    timer.start()
    return timer


def test_a_run_is_watched_to_its_end(
    server: Server, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = client.submit(body(sprt=SPRT)).id
    timer = soon(lambda: client.stop(run_id))
    assert frame.main(["watch", run_id, "--server", server.address]) == 4
    timer.join()
    said = capsys.readouterr().out
    assert "LLR       +0.000 in (-2.94, 2.94)" in said
    assert said.endswith("The run is finished: undecided.\n")


def test_scripts_get_each_change_as_a_line(
    server: Server, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = client.submit(body(num_games=2)).id
    timer = soon(lambda: client.stop(run_id))
    assert frame.main(["watch", run_id, "--json", "--server", server.address]) == 0
    timer.join()
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["state"] for line in lines] == ["pending", "finished"]


def test_an_unknown_run_is_told(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert frame.main(["watch", "f" * 24, "--server", server.address]) == 3
    assert "(404)" in capsys.readouterr().err


def test_an_interrupt_ends_it_quietly(server: Server, client: Client) -> None:
    run_id = client.submit(body()).id
    words = [*COMMAND, "watch", run_id, "--json", "--server", server.address]
    with subprocess.Popen(
        words, cwd=PROJECT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        assert json.loads(watching.stdout.readline())["id"] == run_id
        watching.send_signal(2)
        assert watching.wait(30) == 130
        assert watching.stderr.read() == b""
