"""The access log's formats, and logs that a file configures."""

import json
import logging
import re
import signal
import socket
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from rookery_asgi.accesslog import AccessLog, Entry
from rookery_asgi.cli import main
from rookery_asgi.errors import BadOption
from tests.serving import APP, LIMIT_SECONDS, ROOT, command, eventually, exchange, get, serve
from tests.test_ws_session import shake

HEADERS = [(b"user-agent", b'curl "8"'), (b"referer", b"http://a/\xe9")]
ENTRY: Entry = ((("1.2.3.4", 5), "GET", b'/a"?b=1', "1.0", HEADERS), 200, 13, 0.0123)


def lines_of(text: str, *entries: Entry) -> list[str]:
    written: list[bytes] = []
    log = AccessLog(written.append, text)
    log.entries.extend(entries)
    log.close()
    return b"".join(written).decode().splitlines()


def test_a_format_has_fields_in_braces() -> None:
    text = "{client} {host} {method} {path} {target} {protocol} {status} {bytes} {ms} {seconds}"
    assert lines_of(text, ENTRY) == [
        r"1.2.3.4:5 1.2.3.4 GET /a\x22 /a\x22?b=1 HTTP/1.0 200 13 12.3 0.0123"
    ]


def test_the_combined_format_is_apaches() -> None:
    (line,) = lines_of("combined", ENTRY)
    assert re.fullmatch(
        r"1\.2\.3\.4 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000\] "
        r'"GET /a\\x22\?b=1 HTTP/1\.0" 200 13 "http://a/é" "curl \\x228\\x22"',
        line,
    )


def test_what_a_request_has_not_is_a_dash() -> None:
    refused: Entry = ((None, "", b""), 400, 0, 0.0)
    assert lines_of("{client} {method} {target} {request[x-id]} {status}", refused) == [
        "- - - - 400"
    ]


@pytest.mark.parametrize("text", ["{nothing}", "{0}", "{", "jsn", "{status.x}", "{method:d}"])
def test_a_format_that_can_not_be_used_is_refused_at_the_start(text: str) -> None:
    with pytest.raises(BadOption, match="access-log-format"):
        lines_of(text)


def ask_once(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_SECONDS) as sock:
        exchange(sock, get("/?x", "User-Agent: me", "Connection: close"))


def test_the_server_logs_in_the_format_it_is_given(tmp_path: Path) -> None:
    file = tmp_path / "log"
    options = ("--access-log-format", "{method} {target} {protocol} {status} {request[user-agent]}")
    with file.open("w") as out, serve(APP, *options, stdout=out) as served:
        ask_once(served.port)
        with served.connect() as sock:
            sock.sendall(b"rubbish\r\n\r\n")
            assert sock.recv(100)
        with served.connect() as sock:
            sock.sendall(shake().replace(b"/chat?x=1", b"/chat"))
            assert sock.recv(100)
        assert served.stop() == 0
    assert file.read_text().splitlines() == [
        "GET /?x HTTP/1.1 200 me",
        "- - HTTP/1.1 400 -",
        "GET /chat HTTP/1.1 101 -",
    ]


TOML = """
[formatters.bare]
format = "%(name)s %(levelname)s %(message)s"
[handlers.file]
class = "logging.FileHandler"
filename = "{}"
formatter = "bare"
[loggers.rookery_asgi]
level = "INFO"
handlers = ["file"]
[loggers."rookery_asgi.access"]
handlers = ["file"]
propagate = false
"""
INI = """
[loggers]
keys=root
[handlers]
keys=file
[formatters]
keys=bare
[logger_root]
level=INFO
handlers=file
[handler_file]
class=FileHandler
args=({!r},)
formatter=bare
[formatter_bare]
format=%(name)s %(levelname)s %(message)s
"""


def as_json(path: str) -> str:
    return json.dumps(tomllib.loads(TOML.format(path)))


@pytest.mark.parametrize(
    ("suffix", "text", "access"),
    [(".toml", TOML.format, True), (".json", as_json, True), (".ini", INI.format, False)],
)
def test_a_file_configures_the_logs(
    suffix: str, text: Callable[[str], str], access: bool, tmp_path: Path
) -> None:
    config, out = tmp_path / f"log{suffix}", tmp_path / "out"
    config.write_text(text(str(out)))
    with socket.create_server(("127.0.0.1", 0)) as sock:
        where = ("--fd", str(sock.fileno()), "--log-config", str(config))
        process = subprocess.Popen(
            command(APP, *where), cwd=ROOT, pass_fds=[sock.fileno()], stdout=subprocess.DEVNULL
        )
        try:
            assert eventually(lambda: out.exists() and "serving on" in out.read_text())
            ask_once(sock.getsockname()[1])
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(LIMIT_SECONDS) == 0
    lines = out.read_text().splitlines()
    assert lines[0].startswith("rookery_asgi INFO serving on")
    logged = [line for line in lines if line.startswith("rookery_asgi.access INFO {")]
    assert len(logged) == int(access)


def test_a_configuration_that_can_not_be_read_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text("{")
    before = logging.getLogger().handlers[:]
    assert main([APP, "--log-config", str(tmp_path / "log.json")]) == 2
    assert logging.getLogger().handlers == before
