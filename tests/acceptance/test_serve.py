"""`rookery serve` and `rookery up` as a person uses them."""

import json
import re
import signal
import time
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from rookery.core import __version__
from rookery.server.app.steps import DATABASE, JOBS, LEASE, STEPS
from tests.forks import start_process
from tests.ports import kept_port
from tests.rookery_process import (
    COMMAND,
    SIMULATED,
    RookeryProcess,
    environment,
    place_data,
    run_rookery,
)

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


def test_it_listens_at_the_address_of_its_settings(data: Path) -> None:
    with run_rookery(data, settings={"ROOKERY_HOST": "127.0.0.2"}) as server:
        assert server.address.startswith("http://127.0.0.2:")
        assert server.get("/healthz")[0] == 200


def serve_without_flags(data: Path, **settings: str) -> str:
    """Starts a server by its environment alone; returns the line of its log with its address."""
    place_data(data)
    log, named = data.with_suffix(".log"), {f"ROOKERY_{name}": settings[name] for name in settings}
    with log.open("wb") as out:
        command = [*COMMAND, "serve", f"--data={data}"]
        process = start_process(command, env=environment() | named, stderr=out)
    while not (found := [line for line in log.read_text().splitlines() if "address" in line]):
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    return found[0]


def test_it_listens_at_the_port_of_its_settings(data: Path) -> None:
    with kept_port() as port:
        assert f"http://127.0.0.1:{port}" in serve_without_flags(data, PORT=str(port))


@pytest.mark.parametrize(("style", "begins"), [("json", "{"), ("console", "2"), ("auto", "{")])
def test_log_lines_look_as_the_settings_say(data: Path, style: str, begins: str) -> None:
    assert serve_without_flags(data, PORT="0", LOG_FORMAT=style)[0] == begins


def test_it_serves_by_the_http_server_of_its_settings_where_that_is_here(data: Path) -> None:
    with run_rookery(data, settings={"ROOKERY_HTTP": "rookery-asgi"}) as server:
        ready = server.until("ready")
        told = {event["event"] for event in server.events()}
        assert ready["http"] == "rookery-asgi" or "serving_with_uvicorn" in told


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
