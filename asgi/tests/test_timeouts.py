"""Slow clients over real sockets: every wait for one has an end."""

import socket
import threading
import time

from tests.machine import GET, body_of, status_of
from tests.serving import (
    APP,
    eventually,
    get,
    notes,
    read_all,
    read_response,
    serve,
)


def test_idle_connections_end_after_a_while() -> None:
    with serve(APP, "--timeout-keep-alive", "0.5") as served, served.connect() as sock:
        sock.sendall(GET)
        assert body_of(read_response(sock)) == b"hello"
        assert sock.recv(10) == b""


def test_a_head_that_does_not_come_ends_in_408() -> None:
    with serve(APP, "--timeout-head", "1.5") as served:
        with served.connect() as silent:
            assert silent.recv(10) == b""
        with served.connect() as slow:
            stop = threading.Event()
            threading.Thread(target=drip, args=(slow, b"GET / HTTP/1.1\r\nX: ", stop)).start()
            assert status_of(read_all(slow)) == 408
            stop.set()


def drip(sock: socket.socket, data: bytes, stop: threading.Event) -> None:
    """A byte now and then, for ever."""
    try:
        sock.sendall(data)
        while not stop.wait(0.05):
            sock.sendall(b"x")
    except OSError:
        return


def test_a_body_that_drips_ends_in_408() -> None:
    with serve(APP, "--timeout-body", "0.5") as served, served.connect() as sock:
        stop = threading.Event()
        head = b"POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"
        threading.Thread(target=drip, args=(sock, head, stop)).start()
        assert status_of(read_all(sock)) == 408
        stop.set()
        assert notes(served)["disconnects"] == 1


def test_a_client_that_does_not_read_is_given_up() -> None:
    with serve(APP, "--timeout-write", "0.5") as served, served.connect() as sock:
        sock.sendall(get("/stream?100"))
        assert eventually(lambda: notes(served)["raised"] == 1)


def test_a_refusal_arrives_although_the_client_goes_on_sending() -> None:
    with serve(APP, "--limit-body", "1000") as served, served.connect() as sock:
        sock.sendall(b"POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n")
        time.sleep(0.1)
        sent = 0
        try:
            for _ in range(20):
                sent += sock.send(b"x" * 65536)
        except OSError:
            pass
        assert status_of(read_all(sock)) == 413
