"""Signals: how the server stops, whatever runs."""

import contextlib
import signal
import socket

from tests.machine import GET, body_of, status_of
from tests.serving import (
    APP,
    Served,
    begun,
    eventually,
    get,
    read_all,
    read_response,
    serve,
)
from tests.test_frames import masked
from tests.test_ws_session import shake


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


def open_websocket(served: Served, path: str) -> socket.socket:
    sock = served.connect()
    sock.sendall(shake().replace(b"/chat?x=1", path.encode()))
    return sock


def answer_close(sock: socket.socket) -> None:
    """Read up to the server's close frame, 1012, answer it and leave."""
    data = b""
    while not data.endswith(b"\x88\x02\x03\xf4"):
        part = sock.recv(65536)
        assert part, data
        data += part
    sock.sendall(masked(0x88, b"\x03\xf4"))
    sock.close()


def test_a_stop_waits_until_websockets_have_cleaned_up() -> None:
    with serve(APP) as served, contextlib.ExitStack() as stack:
        chats = [stack.enter_context(open_websocket(served, "/tidy")) for _ in range(100)]
        for chat in chats:
            assert status_of(read_response(chat)) == 101
        served.signal(signal.SIGTERM)
        for chat in chats:
            answer_close(chat)
        assert served.wait() == 0
        assert served.log.count("tidied up") == 100
        assert "cut off" not in served.log
        assert "shutdown seen" in served.log


def test_a_stop_waits_until_streams_that_learn_of_it_have_cleaned_up() -> None:
    options = ("--timeout-graceful-shutdown", "0.5", "--timeout-disconnect", "60")
    with serve(APP, *options) as served, contextlib.ExitStack() as stack:
        streams = [stack.enter_context(served.connect()) for _ in range(50)]
        for stream in streams:
            stream.sendall(get("/tidy"))
            assert status_of(stream.recv(65536)) == 200
        served.signal(signal.SIGTERM)
        assert all(read_all(stream).endswith(b"0\r\n\r\n") for stream in streams)
        assert served.wait() == 0
        assert served.log.count("tidied up") == 50
        assert "cut off" not in served.log


def test_a_websocket_that_was_not_yet_decided_on_learns_of_the_stop() -> None:
    with serve(APP, "--timeout-graceful-shutdown", "600") as served:
        with open_websocket(served, "/undecided") as sock:
            assert begun(served, 1)
            served.signal(signal.SIGTERM)
            assert status_of(read_all(sock)) == 503
        assert served.wait() == 0
        assert "tidied up" in served.log


def test_a_second_signal_does_not_wait_for_websockets() -> None:
    options = ("--timeout-graceful-shutdown", "600")
    with serve(APP, *options) as served, open_websocket(served, "/tidy") as sock:
        assert status_of(read_response(sock)) == 101
        served.signal(signal.SIGTERM)
        assert eventually(lambda: "stopping" in served.log)
        served.signal(signal.SIGTERM)
        assert served.wait() == 0
