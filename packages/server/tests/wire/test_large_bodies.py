"""Nothing large is taken from strangers: they are answered while they still send."""

import socket
import threading
import urllib.request
from collections.abc import Iterator
from functools import partial

import pytest

from tests.large_bodies import MB, SentBody, body_start, high_water_mb, run_at_once, send_body
from tests.twins.sites import PASSWORD
from tests.wire.processes import Server, running_server
from tests.wire.worker.farm import PATHS

SIZE = 40 * MB
EARLY = 12 * MB
"""Sockets of this machine hold some megabytes that nobody has read."""
STRANGER = body_start("a guess", "nobody")


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("attacked")) as started:
        yield started


@pytest.mark.parametrize("chunked", [False, True])
def test_ten_large_bodies_of_strangers_cost_no_memory(attacked: Server, chunked: bool) -> None:
    before = high_water_mb(attacked.process.pid)
    one = partial(send_body, attacked.place, "/api/upload_pgn", STRANGER, SIZE, chunked=chunked)
    answers = run_at_once([one] * 10)
    # Some of them may be told to come later, since too many guess at once.
    assert {answer.status for answer in answers} <= {401, 429, 503}
    assert 401 in {answer.status for answer in answers}
    assert max(answer.sent for answer in answers) < EARLY
    assert high_water_mb(attacked.process.pid) - before < 48


def test_the_server_answers_while_strangers_pour(attacked: Server) -> None:
    over, alive = threading.Event(), 0

    def pouring() -> None:
        one = partial(send_body, attacked.place, "/api/upload_pgn", STRANGER, SIZE)
        run_at_once([one] * 10)
        over.set()

    thread = threading.Thread(target=pouring)
    thread.start()
    while not over.is_set():
        with urllib.request.urlopen(f"{attacked.address}/healthz", timeout=30) as answer:
            alive += answer.status == 200
    thread.join()
    assert alive


def refused_early(answer: SentBody, status: int) -> None:
    assert (answer.status, answer.sent < EARLY) == (status, True)


def test_credentials_that_come_too_late_are_not_waited_for(attacked: Server) -> None:
    answer = send_body(attacked.place, "/api/upload_pgn", b'{"pgn": "', SIZE)
    refused_early(answer, 400)
    assert "within the first 65,536 bytes" in str(answer.said["error"])


def test_a_file_of_a_stranger_is_refused_before_it_is_read(attacked: Server) -> None:
    for path in ("/api/v1/nets?name=a.nnue", "/api/v1/binaries?name=a"):
        refused_early(send_body(attacked.place, path, b"", 10 * MB), 401)


@pytest.mark.parametrize("path", ["/login", "/signup", "/api/v1/users", "/api/actions", "/none"])
def test_a_stranger_sends_little_wherever_nobody_asks_who_it_is(
    attacked: Server, path: str
) -> None:
    form = "content-type: application/x-www-form-urlencoded"
    answer = send_body(attacked.place, path, b"a=", 900_000, form, chunked=True)
    assert answer.status == 413


@pytest.mark.parametrize("name", PATHS)
def test_a_body_too_large_for_a_workers_path_is_told_like_any_refusal_there(
    attacked: Server, name: str
) -> None:
    answer = send_body(attacked.place, f"/api/{name}", body_start(PASSWORD, "ada"), 300 * MB)
    refused_early(answer, 413)
    said = answer.said
    assert "duration" in said
    # An error would end the worker there.
    assert ("info" if name == "request_version" else "error") in said


def test_a_connection_that_was_answered_early_serves_the_next_request(attacked: Server) -> None:
    with attacked.connect() as wire:
        head = b"POST /api/beat HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n"
        wire.sendall(head + b"A" * 50_000)
        assert b" 413 " in wire.recv(65_536)
        wire.sendall(b"A" * 50_000)
        wire.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        answers = b""
        while b'{"alive":true}' not in answers:
            answers += (piece := wire.recv(65_536))
            assert piece, answers


def test_a_client_that_goes_on_sending_for_ever_is_cut_off(attacked: Server) -> None:
    head = b"POST /api/beat HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9000000000000\r\n\r\n"
    with attacked.connect() as wire:
        wire.sendall(head)
        # uvicorn counts what comes after the answer, the other server the seconds.
        with pytest.raises(ConnectionError):
            send_for_ever(wire)


def send_for_ever(wire: socket.socket) -> None:
    while True:
        wire.sendall(b"A" * MB)
