"""Signals: how the server stops, whatever runs."""

import signal

from tests.machine import GET, body_of
from tests.serving import (
    APP,
    begun,
    eventually,
    get,
    read_response,
    serve,
)


def test_sigterm_lets_running_requests_finish() -> None:
    with serve(APP) as served, served.connect() as sock, served.connect() as idle:
        idle.sendall(GET)
        read_response(idle)
        sock.sendall(b"POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
        assert begun(served, 1)
        served.signal(signal.SIGTERM)
        assert idle.recv(10) == b""
        sock.sendall(b"def")
        response = read_response(sock)
        assert body_of(response) == b"6"
        assert b"connection: close" in response
        assert served.wait() == 0
        assert "shutdown seen" in served.log


def test_open_streams_do_not_hold_the_stop() -> None:
    with serve(APP, "--timeout-graceful-shutdown", "0.5") as served:
        socks = [served.connect() for _ in range(3)]
        for sock, path in zip(socks, ("/events", "/never", "/wait"), strict=True):
            sock.sendall(get(path))
        assert begun(served, 3)
        assert served.stop() == 0
        assert "shutdown seen" in served.log
        for sock in socks:
            sock.close()


def test_a_second_signal_stops_at_once() -> None:
    with serve(APP, "--timeout-graceful-shutdown", "600") as served, served.connect() as sock:
        sock.sendall(get("/never"))
        assert begun(served, 1)
        served.signal(signal.SIGINT)
        assert eventually(lambda: "stopping" in served.log)
        served.signal(signal.SIGINT)
        assert served.wait() == 0


def test_a_shutdown_that_hangs_is_given_up() -> None:
    with serve("tests.apps:hangs_in_shutdown", "--timeout-lifespan", "0.3") as served:
        assert served.stop() == 1


def test_an_application_may_end_the_process() -> None:
    with serve(APP) as served, served.connect() as sock:
        sock.sendall(get("/leaves"))
        assert served.wait() == 7
