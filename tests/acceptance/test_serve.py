"""`rookery serve` and `rookery up` as a person uses them."""

import json
import re
import signal
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from rookery import __version__
from rookery.app.steps import DATABASE, JOBS, LEASE, STEPS
from tests.rookery_process import SIMULATED, RookeryProcess, run_rookery

UP = ("up", "--no-worker", "--no-demo")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "the data"


def test_a_deep_folder_with_spaces_is_good_enough(tmp_path: Path) -> None:
    with run_rookery(tmp_path / ("deep folder " * 12) / "the data", first=True) as server:
        assert server.get("/readyz") == (200, '{"ready":true,"role":"primary"}')


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_cleanly(data: Path, number: signal.Signals) -> None:
    with run_rookery(data, settings={"ROOKERY_LOG_LEVEL": "debug"}) as server:
        server.until("ready")
        assert server.stop(number) == 0
        assert server.until("stopped")["failed_steps"] == []
        taken, taken_back = (steps_in(server, event) for event in ("step_up", "step_down"))
    assert taken == [step.name for step in STEPS]
    assert taken_back == [name for name in reversed(taken) if name in taken_back]
    assert {DATABASE.name, LEASE.name, JOBS.name} <= set(taken_back)


def steps_in(server: RookeryProcess, event: str) -> list[object]:
    return [line["step"] for line in server.events() if line["event"] == event]


def test_a_start_and_a_stop_are_both_in_the_log_of_actions(data: Path) -> None:
    with run_rookery(data) as server:
        server.until("ready")
        server.stop()
    with run_rookery(data) as again:
        asked = json.dumps({"action": "system_event"}).encode()
        with urllib.request.urlopen(again.address + "/api/actions", asked, timeout=60) as answer:
            told = [line["message"] for line in json.loads(answer.read())]
    assert told == [f"Rookery {__version__} {word}" for word in ("started", "stopped", "started")]


def test_nothing_blocks_the_loop_from_start_to_stop(data: Path) -> None:
    with run_rookery(data) as server:
        for path in ("/", "/login", "/healthz", "/readyz", "/metrics", "/openapi.json", "/none"):
            server.get(path)
        server.stop()
        assert server.blockages() == []


def test_a_simulated_fleet_is_told_in_the_log_and_on_pages(data: Path) -> None:
    with run_rookery(data, settings=SIMULATED) as server:
        assert "A simulated fleet plays here" in server.get("/")[1]
        assert server.until("simulated_fleet")["level"] == "warning"


def test_up_makes_an_account_that_can_log_in(data: Path) -> None:
    with run_rookery(data, *UP) as server:
        address = server.address
        server.stop()
        password = re.search(r"password (\S+)", server.said())
    assert password is not None
    with run_rookery(data, *UP) as again:
        assert log_in(again.address, "admin", password[1]) == again.address + "/"
        again.stop()
        said = again.said()
    assert again.address in said
    assert "password" not in said
    assert address.startswith("http://127.0.0.1:")


def test_up_can_reset_the_password(data: Path) -> None:
    with run_rookery(data, *UP) as first:
        first.until("ready")
        first.stop()
    with run_rookery(data, *UP, "--reset-password") as second:
        address = second.address
        # What was printed before the address is complete once the server is ready.
        assert second.process.stdout is not None
        printed = "".join(second.process.stdout.readline() for _ in range(3))
        password = re.search(r"password (\S+)", printed)
        assert password is not None
        assert log_in(address, "admin", password[1]) == address + "/"


def log_in(address: str, name: str, password: str) -> str:
    """Where the browser is after it sent the form."""
    cookies = urllib.request.HTTPCookieProcessor(CookieJar())
    browser = urllib.request.build_opener(cookies)
    form = browser.open(address + "/login").read().decode()
    token = re.search(r'name="csrf_token" value="([^"]+)"', form)
    assert token is not None
    fields = {"username": name, "password": password, "csrf_token": token[1]}
    sent = browser.open(address + "/login", urllib.parse.urlencode(fields).encode())
    return str(sent.url)
