"""`--core mongoose`: the same command, with sentences for what it can't do."""

import dataclasses
import json
import socket
import subprocess
import sys

import pytest

from rookery_asgi.mongoose.refused import REASONS
from rookery_asgi.options import Options
from tests.machine import body_of
from tests.serving import APP, ROOT, Served, ask, command, eventually, exchange, get, serve

WITHOUT = """
import sys

sys.modules[{0!r}] = None
from rookery_asgi.cli import main

sys.exit(main({1!r}))
"""


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_same_command_serves_over_cymongoose() -> None:
    with serve(APP, "--core", "mongoose") as served:
        assert body_of(ask(served, "/")) == b"hello"
        assert served.stop() == 0
        assert "shutdown seen" in served.log


def test_without_cymongoose_it_says_so_in_one_sentence_with_status_3() -> None:
    done = ran("-c", WITHOUT.format("cymongoose", [APP, "--core", "mongoose"]))
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "cymongoose is not installed" in done.stderr


def test_it_needs_no_c_core() -> None:
    code = (
        "import sys; sys.modules['rookery_asgi._core'] = None\n"
        "import asyncio, socket\n"
        "from rookery_asgi.mongoose.server import Server\n"
        "from rookery_asgi.options import Options\n"
        "from rookery_asgi.run import need\n"
        "from rookery_asgi.loops import base_loop\n"
        "async def app(scope, receive, send):\n"
        "    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n"
        "    await send({'type': 'http.response.body', 'body': b'hello'})\n"
        "async def main():\n"
        "    options = Options(core='mongoose', port=0, access_log=False)\n"
        "    need(options)\n"
        "    server = Server(app, options)\n"
        "    await server.start()\n"
        "    reader, writer = await asyncio.open_connection(*server.addresses[0])\n"
        "    writer.write(b'GET / HTTP/1.0\\r\\n\\r\\n')\n"
        "    print((await reader.read()).endswith(b'hello'))\n"
        "    writer.close()\n"
        "    await server.stop()\n"
        "asyncio.run(main(), debug=False)\n"
    )
    assert ran("-c", code).stdout == "True\n"


@pytest.mark.parametrize(
    "given",
    [
        "--uds /tmp/none",
        "--fd 0",
        "--backlog 5",
        "--workers 2",
        "--reload",
        "--reload-dir .",
        "--shared-socket",
        "--supervise",
        "--bind :0",
        "--header a:b",
        "--limit-max-requests 5",
        "--limit-worker-age 5",
        "--ssl-ca-certs a",
        "--ssl-certfile a",
        "--ssl-keyfile a",
        "--ssl-keyfile-password a",
        "--metrics-path /metrics",
        "--limit-connections 5",
        "--timeout-lifespan 3",
    ],
)
def test_an_option_that_it_can_not_honour_is_refused_with_a_sentence(given: str) -> None:
    done = subprocess.run(
        command(APP, "--core", "mongoose", *given.split()),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert given.split(maxsplit=1)[0] in done.stderr
    assert done.stderr.count("\n") == 1


def test_every_reason_is_for_an_option_that_exists() -> None:
    assert set(REASONS) <= {field.name for field in dataclasses.fields(Options)}


def test_a_host_with_several_addresses_is_listened_on_at_one_port() -> None:
    with serve(APP, "--core", "mongoose", "--host", "localhost") as served:
        assert b"hello" in ask(served, "/")


def test_an_address_that_is_taken_is_refused_with_status_3() -> None:
    with serve(APP, "--core", "mongoose") as served:
        done = subprocess.run(
            [*command(APP, "--core", "mongoose"), "--port", str(served.port)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 3
        assert "could not bind" in done.stderr


def test_lifespan_state_and_the_start_up_are_those_of_the_same_process() -> None:
    with serve(APP, "--core", "mongoose") as served, served.connect() as sock:
        sock.sendall(b"GET /scope HTTP/1.0\r\n\r\n")
        text = b""
        while part := sock.recv(65536):
            text += part
        assert json.loads(body_of(text))["state"] == {"pid": served.process.pid}


def test_a_failed_start_up_is_status_3() -> None:
    done = subprocess.run(
        command("tests.apps:fails_to_start", "--core", "mongoose", "--port", "0"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3
    assert "no database" in done.stderr


def test_a_second_signal_does_not_wait_for_requests() -> None:
    with serve(APP, "--core", "mongoose", "--timeout-graceful-shutdown", "60") as served:
        with served.connect() as sock:
            sock.sendall(get("/never"))
            assert eventually(lambda: notes_of(served)["begun"] == 1)
            served.signal(15)
            assert eventually(lambda: "stopping" in served.log)
            assert served.stop() == 0
        assert "1 requests were cut off" in served.log


def notes_of(served: Served) -> dict[str, int]:
    """The notes, asked for with HTTP/1.0 so that they come in one piece."""
    with served.connect() as sock:
        found: dict[str, int] = json.loads(body_of(exchange(sock, b"GET /notes HTTP/1.0\r\n\r\n")))
    return found


def test_the_access_log_has_a_line_for_each_request() -> None:
    process = subprocess.Popen(
        [*command(APP, "--core", "mongoose", "--port", "0")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    line = ""
    while "serving on" not in line:
        line = process.stderr.readline()
    port = int(line.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port)) as sock:
        assert exchange(sock, b"GET /echo?a=b HTTP/1.0\r\n\r\n")
    process.terminate()
    out, _ = process.communicate(timeout=60)
    fields = json.loads(out)
    assert (fields["method"], fields["target"], fields["status"]) == ("GET", "/echo?a=b", 200)
