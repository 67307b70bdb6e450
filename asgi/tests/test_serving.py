"""The server over real sockets: addresses, flow, time-outs, signals, TLS, workers."""

import contextlib
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.apps import client_context
from tests.machine import GET, body_of, status_of
from tests.serving import (
    ROOT,
    Served,
    command,
    eventually,
    exchange,
    read_all,
    read_response,
    serve,
)

APP = "tests.apps:app"
LAST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def get(path: str, *headers: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", "Host: a", *headers, "", ""]
    return "\r\n".join(lines).encode()


def ask(served: Served, path: str, *headers: str) -> bytes:
    with served.connect() as sock:
        return exchange(sock, get(path, "Connection: close", *headers))


def notes(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body_of(ask(served, "/notes")))
    return found


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
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        command("tests.apps:slow_to_start", "--port", str(port)), cwd=ROOT, stderr=subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == b"starting\n"
        with socket.socket() as sock:
            assert sock.connect_ex(("127.0.0.1", port)) != 0
        assert b"serving" in process.stderr.readline()
        with socket.create_connection(("127.0.0.1", port)) as sock:
            assert body_of(exchange(sock, LAST)) == b"up"
    finally:
        process.terminate()
        process.communicate(timeout=20)


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
        sock.sendall(b"POST /sleepy-count HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n")
        sent = send_until_blocked(sock)
        assert sent < 20_000_000
        sock.settimeout(20)
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
        time.sleep(0.2)
        began = time.monotonic()
        sock.close()
        assert eventually(lambda: notes(served)["disconnects"] == 1)
        assert time.monotonic() - began < 2  # generous: the machine may be busy
        streaming = served.connect()
        streaming.sendall(get("/events"))
        streaming.recv(100)
        streaming.close()
        assert eventually(lambda: notes(served)["raised"] == 1)


def test_a_client_that_leaves_with_requests_waiting_is_noticed() -> None:
    with serve(APP) as served:
        sock = served.connect()
        sock.sendall(get("/wait") + GET * 5000)
        time.sleep(0.2)
        sock.close()
        assert eventually(lambda: notes(served)["disconnects"] == 1)


def test_idle_connections_end_after_a_while() -> None:
    with serve(APP, "--timeout-keep-alive", "0.5") as served, served.connect() as sock:
        sock.sendall(GET)
        assert body_of(read_response(sock)) == b"hello"
        assert sock.recv(10) == b""


def test_a_head_that_does_not_come_ends_in_408() -> None:
    with serve(APP, "--timeout-head", "0.5") as served:
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


def test_sigterm_lets_running_requests_finish() -> None:
    with serve(APP) as served, served.connect() as sock, served.connect() as idle:
        idle.sendall(GET)
        read_response(idle)
        sock.sendall(get("/slow"))
        time.sleep(0.2)
        served.signal(signal.SIGTERM)
        assert idle.recv(10) == b""
        response = read_response(sock)
        assert body_of(response) == b"slow"
        assert b"connection: close" in response
        assert served.wait() == 0
        assert "shutdown seen" in served.log


def test_open_streams_do_not_hold_the_stop() -> None:
    with serve(APP, "--timeout-graceful-shutdown", "0.5") as served:
        socks = [served.connect() for _ in range(3)]
        for sock, path in zip(socks, ("/events", "/never", "/wait"), strict=True):
            sock.sendall(get(path))
        time.sleep(0.2)
        began = time.monotonic()
        assert served.stop() == 0
        assert time.monotonic() - began < 15
        assert "shutdown seen" in served.log
        for sock in socks:
            sock.close()


def test_a_second_signal_stops_at_once() -> None:
    with serve(APP, "--timeout-graceful-shutdown", "60") as served, served.connect() as sock:
        sock.sendall(get("/never"))
        time.sleep(0.2)
        served.signal(signal.SIGINT)
        time.sleep(0.2)
        served.signal(signal.SIGINT)
        assert served.wait() == 0


def test_a_shutdown_that_hangs_is_given_up() -> None:
    with serve("tests.apps:hangs_in_shutdown", "--timeout-lifespan", "0.3") as served:
        assert served.stop() == 1


def test_an_application_may_end_the_process() -> None:
    with serve(APP) as served, served.connect() as sock:
        sock.sendall(get("/leaves"))
        assert served.wait() == 7


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
            third.settimeout(10)
            assert body_of(read_response(third)) == b"hello"
        second.close()


def write_certificate(folder: Path, name: str) -> tuple[str, str]:
    issued = trustme.CA().issue_cert(name)
    cert, key = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    key.write_bytes(issued.private_key_pem.bytes())
    return str(cert), str(key)


def names_of(served: Served) -> str:
    with served.connect() as raw, client_context().wrap_socket(raw) as tls:
        der = tls.getpeercert(binary_form=True)
        assert der is not None
        return der.decode("latin-1")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_serves_both_versions(tmp_path: Path, version: ssl.TLSVersion) -> None:
    cert, key = write_certificate(tmp_path, "one.example")
    with serve(APP, "--ssl-certfile", cert, "--ssl-keyfile", key) as served:
        context = client_context()
        context.minimum_version = context.maximum_version = version
        with served.connect() as raw, context.wrap_socket(raw) as sock:
            for size in (10, 5_000_000):
                head = b"POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size
                sock.sendall(head + b"x" * size)
                assert body_of(read_response(sock)) == b"%d" % size
            sock.sendall(get("/stream?5", "Connection: close"))
            assert len(read_all(sock)) > 5 * 1024 * 1024
        with served.connect() as raw, context.wrap_socket(raw) as sock:
            assert (
                json.loads(body_of(exchange(sock, get("/scope", "Connection: close"))))["scheme"]
                == "https"
            )
        with served.connect() as plain:
            plain.sendall(GET)
            assert status_of(read_all(plain)) == 0
        assert b"hello" in ask_tls(served)


def ask_tls(served: Served) -> bytes:
    with served.connect() as raw, client_context().wrap_socket(raw) as sock:
        return exchange(sock, LAST)


def test_sighup_reloads_the_certificate(tmp_path: Path) -> None:
    cert, key = write_certificate(tmp_path, "one.example")
    with serve(APP, "--ssl-certfile", cert, "--ssl-keyfile", key) as served:
        assert "one.example" in names_of(served)
        write_certificate(tmp_path, "two.example")
        served.signal(signal.SIGHUP)
        assert eventually(lambda: "two.example" in names_of(served))
        Path(cert).write_text("rubbish")
        served.signal(signal.SIGHUP)
        assert eventually(lambda: "not reloaded" in served.log)
        assert "two.example" in names_of(served)


def test_workers_share_the_port_and_are_replaced() -> None:
    with serve(APP, "--workers", "2") as served:
        assert eventually(lambda: served.log.count("serving on") == 2)

        def pid() -> int:
            number: int = json.loads(body_of(ask(served, "/scope")))["state"]["pid"]
            return number

        assert eventually(lambda: len({pid() for _ in range(20)}) == 2)
        victim = pid()
        os.kill(victim, signal.SIGKILL)
        assert eventually(lambda: served.log.count("serving on") == 3)
        assert eventually(lambda: victim not in {pid() for _ in range(20)})
        assert served.stop() == 0


def test_workers_whose_application_can_not_start_end_the_supervisor() -> None:
    done = subprocess.run(
        command("tests.apps:fails_to_start", "--port", "0", "--workers", "2"),
        cwd=ROOT,
        check=False,
        capture_output=True,
        timeout=30,
    )
    assert done.returncode == 3


def test_reload_serves_the_changed_application(tmp_path: Path) -> None:
    module = tmp_path / "changing.py"
    lines = (
        "from tests.machine import answer",
        "async def app(s, r, send):",
        "  await answer(send, b'{}')",
    )
    text = "\n".join(lines)
    module.write_text(text.replace("{}", "one"))
    options = ("--reload", "--app-dir", str(tmp_path), "--lifespan", "off")
    with serve("changing:app", *options) as served:
        assert body_of(ask(served, "/")) == b"one"
        module.write_text(text.replace("{}", "three"))
        assert eventually(lambda: body_of(ask(served, "/")) == b"three", 20)


def test_the_standard_library_understands_us() -> None:
    with serve(APP) as served:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
        for path, body in (("/", None), ("/echo", b"abc"), ("/echo", iter([b"a", b"bc"]))):
            connection.request("POST" if body else "GET", path, body, encode_chunked=True)
            response = connection.getresponse()
            assert response.status == 200
            assert response.read() == (b"abc" if body else b"hello")
        connection.close()
