"""Several addresses at once, and those that a service manager opens."""

import contextlib
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rookery_asgi import Options
from rookery_asgi.binds import Bind, check_binds, passed_descriptors, read_bind
from rookery_asgi.errors import BadOption
from tests.apps import client_context
from tests.machine import body_of
from tests.serving import (
    APP,
    LAST,
    LIMIT_SECONDS,
    ROOT,
    Served,
    ask,
    command,
    eventually,
    exchange,
    get,
    serve,
)
from tests.test_tls import write_certificate


@pytest.mark.parametrize(
    ("text", "bind"),
    [
        ("127.0.0.1:80", Bind("127.0.0.1", 80)),
        ("[::1]:80", Bind("::1", 80)),
        (":80", Bind("", 80)),
        ("a.example:80,plain", Bind("a.example", 80, plain=True)),
        ("unix:/run/a", Bind(path="/run/a")),
        ("unix:/run/a,mode=660,plain", Bind(path="/run/a", mode=0o660, plain=True)),
        ("fd:3", Bind(fd=3)),
    ],
)
def test_an_address_is_read(text: str, bind: Bind) -> None:
    assert read_bind(text) == bind


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "::1:80", "a:b", "a:65536", "a:-1", "unix:", "fd:", "fd:x", "a:80,tls"),
        *("a:80,mode=660", "unix:/a,mode=999", "unix:/a,mode=1777", "fd:3,mode=660"),
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(BadOption, match="--bind"):
        read_bind(text)


@pytest.mark.parametrize("other", [{"port": 1}, {"host": "a"}, {"uds": "/a"}, {"fd": 3}])
def test_no_address_is_forgotten_silently(other: dict[str, object]) -> None:
    with pytest.raises(BadOption, match="exclude each other"):
        check_binds(Options(binds=("a:80",), **other))  # type: ignore[arg-type]


def addresses(served: Served, count: int) -> list[str]:
    assert eventually(lambda: served.log.count("serving on") == count)
    return re.findall(r"serving on (\S+)", served.log)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_tcp_tls_and_a_unix_socket_are_served_side_by_side(workers: str, tmp_path: Path) -> None:
    cert, key = write_certificate(tmp_path, "one.example")
    path = tmp_path / "s"
    binds = ("127.0.0.1:0", "127.0.0.1:0,plain", f"unix:{path},plain,mode=600")
    words = [word for bind in binds for word in ("--bind", bind)]
    options = (*words, "--workers", workers, "--ssl-certfile", cert, "--ssl-keyfile", key)
    with serve(APP, *options, port=False) as served:
        where = addresses(served, 3 * int(workers))
        secure = next(url for url in where if url.startswith("https:"))
        plain = next(url for url in where if url.startswith("http:"))
        assert f"unix:{path}" in where
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert scheme_at(port_of(secure), tls=True) == "https"
        assert scheme_at(port_of(plain), tls=False) == "http"
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(path))
            assert body_of(exchange(sock, LAST)) == b"hello"
        assert served.stop() == 0
    assert not path.exists()


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def scheme_at(port: int, *, tls: bool) -> str:
    request = get("/scope", "Connection: close")
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_SECONDS) as raw:
        if not tls:
            return str(json.loads(body_of(exchange(raw, request)))["scheme"])
        with client_context().wrap_socket(raw) as sock:
            return str(json.loads(body_of(exchange(sock, request)))["scheme"])


def test_an_address_that_fails_gives_the_others_back(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = ("--bind", f"unix:{path}", "--bind", f"127.0.0.1:{port}")
        done = subprocess.run(
            command(APP, *words), cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert done.returncode == 3
    assert "Address already in use" in done.stderr
    assert not path.exists()


def test_descriptors_are_passed_to_one_process_alone() -> None:
    variables = {"LISTEN_PID": "7", "LISTEN_FDS": "2"}
    assert passed_descriptors(variables, 7) == ("fd:3", "fd:4")
    assert passed_descriptors(variables, 8) == ()
    assert passed_descriptors({}, 7) == ()


ACTIVATED = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2")
os.execv(sys.executable, [sys.executable, "-m", "rookery_asgi", *sys.argv[3:]])
"""


@contextlib.contextmanager
def activated(*options: str, **variables: str) -> Iterator[tuple[Served, list[int]]]:
    """A server that is started as systemd starts one whose sockets it has opened."""
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        fds = (one.fileno(), two.fileno())
        process = subprocess.Popen(
            [sys.executable, "-c", ACTIVATED, *map(str, fds), APP, *options],
            cwd=ROOT,
            pass_fds=fds,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **variables},
        )
        served = Served(process)
        try:
            assert served.listening.wait(LIMIT_SECONDS)
            yield served, [one.getsockname()[1], two.getsockname()[1]]
        finally:
            process.send_signal(signal.SIGTERM)
            assert served.wait() == 0
            assert process.stderr is not None
            process.stderr.close()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_sockets_of_a_service_manager_are_served_in_place_of_host_and_port(workers: str) -> None:
    with activated("--workers", workers) as (_, ports):
        for port in ports:
            assert scheme_at(port, tls=False) == "http"


def said_to(manager: socket.socket) -> str:
    return manager.recv(4096).decode()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """What a service manager listens with."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.settimeout(LIMIT_SECONDS)
        yield sock


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_service_manager_is_told_how_the_server_is(
    workers: str, manager: socket.socket
) -> None:
    variables = {"NOTIFY_SOCKET": manager.getsockname()}
    with serve(APP, "--workers", workers, variables=variables) as served:
        ready = said_to(manager)
        assert ready.startswith("READY=1\n")
        assert f"MAINPID={served.process.pid}" in ready
        assert b"hello" in ask(served, "/")
        served.signal(signal.SIGHUP)
        assert said_to(manager).startswith("RELOADING=1\nMONOTONIC_USEC=")
        assert said_to(manager).startswith("READY=1\n")
        assert served.stop() == 0
    assert said_to(manager) == "STOPPING=1"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_watchdog_hears_of_the_server_again_and_again(
    workers: str, manager: socket.socket
) -> None:
    variables = {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "100000"}
    with serve(APP, "--workers", workers, variables=variables):
        heard = [said_to(manager) for _ in range(4)]
    assert heard.count("WATCHDOG=1") >= 3
