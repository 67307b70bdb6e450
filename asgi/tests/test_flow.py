"""Bodies over real sockets: both sides wait for one another, and who leaves is noticed."""

import contextlib
import socket
import time

from tests.machine import GET, body_of
from tests.serving import (
    APP,
    LIMIT_SECONDS,
    ask,
    begun,
    eventually,
    get,
    notes,
    read_response,
    serve,
)


def test_an_upload_needs_constant_memory() -> None:
    with serve(APP) as served, served.connect() as sock:
        ask(served, "/")
        before = served.memory()
        size, part = 300_000_000, b"x" * 1_000_000
        sock.sendall(b"POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size // len(part)):
            sock.sendall(part)
        assert body_of(read_response(sock)) == b"%d" % size
        assert served.memory() - before < 4_000_000


def test_an_upload_waits_while_the_application_does_not_read() -> None:
    with serve(APP) as served, served.connect() as sock:
        sock.settimeout(0.3)
        sock.sendall(b"POST /late-count HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n")
        sent = send_until_blocked(sock)
        assert sent < 20_000_000
        ask(served, "/release")
        sock.settimeout(LIMIT_SECONDS)
        sock.sendall(b"x" * (50_000_000 - sent))
        assert body_of(read_response(sock)) == b"50000000"


def send_until_blocked(sock: socket.socket) -> int:
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < 50_000_000:
            sent += sock.send(b"x" * 65536)
    return sent


def test_a_download_waits_while_the_client_does_not_read() -> None:
    with serve(APP) as served, served.connect() as sock:
        ask(served, "/")
        before = served.memory()
        sock.sendall(get("/stream?200", "Connection: close"))
        time.sleep(0.5)
        assert served.memory() - before < 4_000_000
        total = 0
        while part := sock.recv(1 << 20):
            total += len(part)
        assert total > 200 * 1024 * 1024


def test_a_client_that_leaves_is_noticed() -> None:
    with serve(APP) as served:
        sock = served.connect()
        sock.sendall(get("/wait"))
        assert begun(served, 1)
        sock.close()
        assert eventually(lambda: notes(served)["disconnects"] == 1)
        streaming = served.connect()
        streaming.sendall(get("/events"))
        streaming.recv(100)
        streaming.close()
        assert eventually(lambda: notes(served)["raised"] == 1)


def test_a_client_that_leaves_with_requests_waiting_is_noticed() -> None:
    with serve(APP) as served:
        sock = served.connect()
        sock.sendall(get("/wait") + GET * 5000)
        assert begun(served, 1)
        sock.close()
        assert eventually(lambda: notes(served)["disconnects"] == 1)
