"""Hostile clients and broken applications: the server goes on, and nothing is left behind."""

import contextlib
import random
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.machine import GET, body_of, status_of
from tests.serving import (
    APP,
    LIMIT_SECONDS,
    ROOT,
    Served,
    ask,
    begun,
    command,
    eventually,
    get,
    notes,
    read_all,
    read_response,
    serve,
)
from tests.test_ws_session import shake

STATES: dict[str, bytes] = {
    "nothing sent": b"",
    "half a head": GET[:10],
    "a whole request": GET,
    "half a body": b"POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc",
    "half a chunk": b"POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    "a waiting application": get("/wait"),
    "an application that never answers": get("/never"),
    "a stream": get("/stream?50"),
    "events": get("/events"),
    "many requests": GET * 2000,
    "a handshake": shake(),
    "half a frame": shake() + b"\x81\xfe\x01",
    "garbage": bytes(range(256)) * 10,
}


def reset(sock: socket.socket) -> None:
    """Close so that the other side gets a reset instead of an end."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


@contextlib.contextmanager
def unharmed(*options: str) -> Iterator[Served]:
    """A server that afterwards has no more descriptors, tasks and connections than before."""
    with serve(APP, "--timeout-graceful-shutdown", "0.5", *options) as served:
        before = settled(served)
        yield served
        assert eventually(lambda: settled(served) == before), (before, settled(served))
        assert served.process.poll() is None
        assert "ignored" not in served.log, served.log
        assert served.stop() == 0


def settled(served: Served) -> dict[str, Any]:
    found = notes(served)
    return {"tasks": found["tasks"], "descriptors": served.descriptors()}


@pytest.mark.parametrize("wait", [0.0, 0.05])
def test_clients_that_reset_in_every_state(wait: float) -> None:
    with unharmed() as served:
        for data in STATES.values():
            if b"/never" in data:
                continue
            sock = served.connect()
            sock.sendall(data)
            time.sleep(wait)
            reset(sock)


def test_clients_that_close_in_every_state() -> None:
    with unharmed() as served:
        for data in STATES.values():
            if b"/never" in data:
                continue
            with served.connect() as sock:
                sock.sendall(data)
                time.sleep(0.02)


def test_clients_that_close_one_side_in_every_state() -> None:
    with unharmed("--timeout-write", "1") as served:
        for data in STATES.values():
            if b"/never" in data or b"/events" in data:
                continue
            with served.connect() as sock:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                read_all(sock)


def test_garbage_never_gets_more_than_a_refusal() -> None:
    chance = random.Random(7)
    with unharmed() as served:
        for _ in range(200):
            with served.connect() as sock:
                answer = exchange_garbage(sock, chance.randbytes(chance.randrange(1, 600)))
                assert status_of(answer) in (0, 400, 501, 505)


def exchange_garbage(sock: socket.socket, data: bytes) -> bytes:
    with contextlib.suppress(OSError):
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        return read_all(sock)
    return b""


def test_a_thousand_clients_that_send_a_byte_at_a_time_disturb_no_one() -> None:
    with unharmed("--timeout-head", "2") as served:
        slow = [served.connect() for _ in range(1000)]
        for i in range(3):
            for sock in slow:
                with contextlib.suppress(OSError):
                    sock.send(GET[i : i + 1])
            assert body_of(ask(served, "/")) == b"hello"
        for sock in slow:
            sock.close()


def test_clients_that_never_read_are_given_up() -> None:
    with unharmed("--timeout-write", "0.5") as served:
        deaf = [served.connect() for _ in range(20)]
        for sock in deaf:
            sock.sendall(get("/stream?20"))
        assert eventually(lambda: notes(served)["raised"] == 20)
        for sock in deaf:
            sock.close()


@pytest.mark.parametrize(
    ("path", "status", "whole"),
    [
        ("/raises", 500, True),
        ("/returns", 500, True),
        ("/raises-late", 200, False),
        ("/raises-after", 200, True),
        ("/block", 200, True),
    ],
)
def test_broken_applications(path: str, status: int, whole: bool) -> None:
    with unharmed() as served:
        for _ in range(3):
            answer = ask(served, path)
            assert status_of(answer) == status
            assert (b"content-length" in answer) is whole
        assert body_of(ask(served, "/")) == b"hello"


def test_an_application_that_never_answers_is_left_when_the_server_stops() -> None:
    with serve(APP, "--timeout-graceful-shutdown", "0.3") as served:
        socks = [served.connect() for _ in range(10)]
        for sock in socks:
            sock.sendall(get("/never"))
        assert begun(served, 10)
        assert served.stop() == 0
        assert "10 requests were cut off" in served.log
        for sock in socks:
            sock.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_in_every_state(number: int) -> None:
    with serve(APP, "--timeout-graceful-shutdown", "0.3", "--timeout-lifespan", "2") as served:
        socks = []
        for data in STATES.values():
            socks.append(served.connect())
            socks[-1].sendall(data)
        time.sleep(0.1)
        served.signal(number)
        assert served.wait() == 0
        assert "shutdown seen" in served.log
        assert "ignored" not in served.log, served.log
        for sock in socks:
            sock.close()


def test_a_signal_during_start_up_stops_cleanly() -> None:
    process = subprocess.Popen(
        command("tests.apps:slow_to_start", "--port", "0"), cwd=ROOT, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGUSR1)
    assert process.wait(LIMIT_SECONDS) == 0
    process.stderr.close()


def thousand_clients(served: Served) -> None:
    socks = [served.connect() for _ in range(1000)]
    for sock in socks:
        sock.sendall(GET)
    for sock in socks:
        read_response(sock)
        sock.close()


def test_memory_comes_back_after_many_connections() -> None:
    with unharmed() as served:
        for _ in range(3):
            thousand_clients(served)
        ask(served, "/notes")
        first = served.memory()
        for _ in range(3):
            thousand_clients(served)
        assert served.memory() - first < 2_000_000
