"""Files over real sockets: plain, unix and TLS, to clients that read, wait and leave."""

import hashlib
import os
import socket
import ssl
from pathlib import Path

import pytest

from tests.apps import client_context
from tests.machine import GET, body_of
from tests.serving import (
    APP,
    LIMIT_SECONDS,
    Served,
    ask,
    begun,
    eventually,
    get,
    read_all,
    read_response,
    serve,
)
from tests.test_tls import write_certificate

MEGABYTES = 48


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A large file of which no two parts are the same."""
    path = tmp_path_factory.mktemp("files") / "large"
    with path.open("wb") as out:
        for _ in range(MEGABYTES):
            out.write(os.urandom(1 << 20))
    return path


def is_next(sock: socket.socket, file: Path) -> bool:
    """Whether the next response has the file as its body; nothing behind it is read."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += sock.recv(1)
    assert b"content-length: %d\r\n" % file.stat().st_size in head
    body, left = hashlib.sha256(), file.stat().st_size
    while left:
        part = sock.recv(min(left, 1 << 20))
        assert part
        body.update(part)
        left -= len(part)
    return body.digest() == hashlib.sha256(file.read_bytes()).digest()


def has_open(served: Served, path: Path) -> bool:
    links = Path(f"/proc/{served.process.pid}/fd").iterdir()
    return any(os.path.realpath(link) == str(path) for link in links)


def test_a_file_is_sent_in_constant_memory_and_the_connection_stays(file: Path) -> None:
    with serve(APP) as served, served.connect() as sock:
        ask(served, "/")
        before = served.memory()
        for _ in range(2):
            sock.sendall(get(f"/file?{file}"))
            assert is_next(sock, file)
        assert served.memory() - before < 4_000_000
        sock.sendall(GET)
        assert body_of(read_response(sock)) == b"hello"
        assert not has_open(served, file)


def test_a_file_over_a_unix_socket(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with serve(APP, "--uds", str(path), port=False), socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(LIMIT_SECONDS)
        sock.connect(str(path))
        sock.sendall(get(f"/file?{file}"))
        assert is_next(sock, file)


def test_a_file_over_tls_in_constant_memory(file: Path, tmp_path: Path) -> None:
    cert, key = write_certificate(tmp_path, "one.example")
    with serve(APP, "--ssl-certfile", cert, "--ssl-keyfile", key) as served:
        with tls_to(served) as sock:
            sock.sendall(get("/"))
            read_response(sock)
            before = served.memory()
            sock.sendall(get(f"/file?{file}"))
            assert is_next(sock, file)
            assert served.memory() - before < 8_000_000
        with tls_to(served) as sock:
            sock.sendall(get(f"/file?{file}", "Connection: close"))
            assert is_next(sock, file)
            assert sock.recv(1) == b""


def test_a_large_body_over_tls_is_sealed_in_pieces(tmp_path: Path) -> None:
    cert, key = write_certificate(tmp_path, "one.example")
    options = ("--ssl-certfile", cert, "--ssl-keyfile", key)
    with serve(APP, *options) as served, tls_to(served) as sock:
        sock.sendall(get("/"))
        read_response(sock)
        before = served.memory()
        sock.sendall(get("/megabyte?100"))
        assert sock.recv(1)
        assert served.memory() - before < 130_000_000


def tls_to(served: Served) -> ssl.SSLSocket:
    return client_context().wrap_socket(served.connect())


def test_others_are_served_while_a_client_does_not_read_its_file(file: Path) -> None:
    with serve(APP) as served, served.connect() as slow:
        slow.sendall(get(f"/file?{file}") + GET)
        assert begun(served, 1)
        for _ in range(20):
            assert body_of(ask(served, "/")) == b"hello"
        assert has_open(served, file)
        assert is_next(slow, file)
        assert body_of(read_response(slow)) == b"hello"


def test_a_client_that_leaves_closes_the_file(file: Path) -> None:
    with serve(APP) as served:
        with served.connect() as sock:
            sock.sendall(get(f"/file?{file}"))
            assert sock.recv(1000)
            assert has_open(served, file)
        assert eventually(lambda: not has_open(served, file))


@pytest.mark.parametrize("tls", [False, True])
def test_a_file_that_becomes_shorter_cuts_its_connection_alone(tls: bool, tmp_path: Path) -> None:
    cert, key = write_certificate(tmp_path, "one.example")
    path = tmp_path / "shrinks"
    path.write_bytes(b"x" * (MEGABYTES << 20))
    options = ("--ssl-certfile", cert, "--ssl-keyfile", key) if tls else ()
    with serve(APP, *options) as served:
        with tls_to(served) if tls else served.connect() as sock:
            sock.sendall(get(f"/file?{path}"))
            assert sock.recv(1000)
            os.truncate(path, 1000)
            assert len(read_until_cut(sock)) < MEGABYTES << 20
        with tls_to(served) if tls else served.connect() as sock:
            sock.sendall(GET)
            assert body_of(read_response(sock)) == b"hello"


def read_until_cut(sock: socket.socket) -> bytes:
    try:
        return read_all(sock)
    except (ssl.SSLError, OSError):
        return b""
