"""The server over real sockets: addresses, start-up, what a client sees."""

import asyncio
import gc
import http.client
import json
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rookery_asgi import Options, sockets
from rookery_asgi.errors import CannotBind
from rookery_asgi.server import Server
from tests.machine import GET, body_of, hello, play, status_of
from tests.serving import (
    APP,
    LAST,
    LIMIT_SECONDS,
    ROOT,
    Served,
    ask,
    command,
    exchange,
    get,
    read_response,
    serve,
)
from tests.test_ws_session import shake


def test_requests_share_a_connection() -> None:
    with serve(APP) as served, served.connect() as sock:
        for _ in range(3):
            sock.sendall(GET)
            assert body_of(read_response(sock)) == b"hello"
        sock.sendall(GET * 50)
        data = b""
        while data.count(b"hello") < 50:
            data += sock.recv(65536)


def test_the_scope_over_a_socket() -> None:
    with serve(APP) as served:
        scope = json.loads(body_of(ask(served, "/scope", "X-Forwarded-For: 1.2.3.4")))
        assert scope["server"] == ["127.0.0.1", served.port]
        assert scope["client"] == ["1.2.3.4", 0]
        assert scope["state"] == {"pid": served.process.pid}


def test_proxy_headers_can_be_off() -> None:
    with serve(APP, "--no-proxy-headers") as served:
        scope = json.loads(body_of(ask(served, "/scope", "X-Forwarded-For: 1.2.3.4")))
        assert scope["client"][0] == "127.0.0.1"


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_both_loops_serve(loop: str) -> None:
    with serve(APP, "--loop", loop) as served:
        assert body_of(ask(served, "/")) == b"hello"
        assert served.stop() == 0


def test_ipv6_and_all_addresses() -> None:
    with serve(APP, "--host", "::") as served:
        with socket.create_connection(("::1", served.port)) as sock:
            scope = json.loads(body_of(exchange(sock, get("/scope", "Connection: close"))))
        assert scope["server"] == ["::1", served.port]


def test_a_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "s"
    for _ in range(2):  # the second time a file is left behind
        with serve(APP, "--uds", str(path), port=False) as served:
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(str(path))
                scope = json.loads(body_of(exchange(sock, get("/scope", "Connection: close"))))
            assert scope["client"] is None
            assert scope["server"] == [str(path), None]
            served.signal(signal.SIGKILL)
            served.wait()
    with serve(APP, "--uds", str(path), port=False) as served:
        assert served.stop() == 0
    assert not path.exists()


def test_an_inherited_descriptor() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        with serve(APP, "--fd", str(sock.fileno()), port=False, fds=(sock.fileno(),)) as served:
            assert served.port == sock.getsockname()[1]
            assert body_of(ask(served, "/")) == b"hello"


def test_an_address_in_use_is_one_sentence() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        port = str(sock.getsockname()[1])
        done = subprocess.run(
            command(APP, "--port", port), cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == (
        f"The address can't be used: 127.0.0.1:{port}: Address already in use."
    )


def test_nothing_listens_before_start_up_has_completed() -> None:
    with socket.socket() as kept:
        # Bound and never listening: nobody but who may share the address gets it meanwhile.
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        serve_late(kept.getsockname()[1])


def serve_late(port: int) -> None:
    process = subprocess.Popen(
        command("tests.apps:slow_to_start", "--port", str(port)), cwd=ROOT, stderr=subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == b"starting\n"
        with socket.socket() as sock:
            assert sock.connect_ex(("127.0.0.1", port)) != 0
        process.send_signal(signal.SIGUSR1)
        assert b"serving" in process.stderr.readline()
        with socket.create_connection(("127.0.0.1", port)) as sock:
            assert body_of(exchange(sock, LAST)) == b"up"
    finally:
        process.terminate()
        process.communicate(timeout=LIMIT_SECONDS)


def test_a_failed_start_up_stops_the_server() -> None:
    done = subprocess.run(
        command("tests.apps:fails_to_start", "--port", "0"),
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert "The application's start-up failed: no database." in done.stderr


def test_a_factory_makes_the_application() -> None:
    with serve("tests.apps:make", "--factory") as served:
        assert body_of(ask(served, "/")) == b"hello"


def test_metrics_have_a_path() -> None:
    with serve(APP, "--metrics-path", "/metrics") as served:
        ask(served, "/")
        assert b"rookery_asgi_requests_total 2\n" in ask(served, "/metrics")


def test_a_limit_of_connections_queues_the_rest() -> None:
    with serve(APP, "--limit-connections", "2") as served:
        first, second = served.connect(), served.connect()
        for sock in (first, second):
            sock.sendall(GET)
            read_response(sock)
        with served.connect() as third:
            third.sendall(GET)
            third.settimeout(0.4)
            with pytest.raises(TimeoutError):
                third.recv(10)
            first.close()
            third.settimeout(LIMIT_SECONDS)
            assert body_of(read_response(third)) == b"hello"
        second.close()


def test_the_standard_library_understands_us() -> None:
    with serve(APP) as served:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=LIMIT_SECONDS)
        for path, body in (("/", None), ("/echo", b"abc"), ("/echo", iter([b"a", b"bc"]))):
            connection.request("POST" if body else "GET", path, body, encode_chunked=True)
            response = connection.getresponse()
            assert response.status == 200
            assert response.read() == (b"abc" if body else b"hello")
        connection.close()


def test_a_host_is_served_on_all_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [(socket.AF_INET6, ("::1", 0, 0, 0)), (socket.AF_INET, ("127.0.0.1", 0))]
    monkeypatch.setattr(sockets, "addresses_of", lambda host: both)
    bound = sockets.bind_tcp("localhost", 0, shared=False)
    assert [sock.getsockname()[0] for sock in bound] == ["::1", "127.0.0.1"]
    assert len({sock.getsockname()[1] for sock in bound}) == 1
    sockets.close_all(bound)


def test_an_address_that_the_machine_does_not_have_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = (socket.AF_INET, ("192.0.2.1", 0))
    both = [elsewhere, (socket.AF_INET, ("127.0.0.1", 0))]
    monkeypatch.setattr(sockets, "addresses_of", lambda host: both)
    (sock,) = sockets.bind_tcp("localhost", 0, shared=False)
    assert sock.getsockname()[0] == "127.0.0.1"
    sock.close()
    monkeypatch.setattr(sockets, "addresses_of", lambda host: [elsewhere])
    with pytest.raises(CannotBind, match="assign requested address"):
        sockets.bind_tcp("localhost", 0, shared=False)


@pytest.mark.parametrize("options", [(), ("--workers", "2"), ("--workers", "2", "--shared-socket")])
def test_localhost_is_served(options: tuple[str, ...]) -> None:
    with serve(APP, "--host", "localhost", *options) as served:
        for family, _, _, _, address in socket.getaddrinfo("localhost", served.port, type=1):
            with socket.socket(family) as sock:
                if sock.connect_ex(address) == 0:
                    assert body_of(exchange(sock, LAST)) == b"hello"
        assert served.stop() == 0


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
from rookery_asgi.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_the_command_freezes_what_is_loaded_and_raises_the_limit_of_descriptors() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LIMITED, APP, "--port", "0"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    served = Served(process)
    assert served.listening.wait(LIMIT_SECONDS)
    found = json.loads(body_of(ask(served, "/process")))
    assert found["frozen"] > 1000
    assert found["limit"] == [200, 200]
    assert served.stop() == 0
    assert process.stderr is not None
    process.stderr.close()


def test_a_server_inside_another_program_changes_nothing_of_it() -> None:
    async def story() -> None:
        server = Server(hello, Options(port=0, lifespan="off", access_log=False))
        serving = asyncio.create_task(server.serve())
        await server.listening.wait()
        await asyncio.sleep(0)
        server.stop()
        await serving

    before = (gc.get_freeze_count(), resource.getrlimit(resource.RLIMIT_NOFILE))
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, before[1][1]))
    try:
        play(story)
        assert gc.get_freeze_count() == before[0]
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 100
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before[1])


def test_the_access_log_has_websockets(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as stdout, serve(APP, stdout=stdout) as served:
        with served.connect() as sock:
            sock.sendall(shake())
            assert status_of(read_response(sock)) == 101
        ask(served, "/")
        assert served.stop() == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["target"], line["status"]) for line in lines] == [("/chat?x=1", 101), ("/", 200)]
