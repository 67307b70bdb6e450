"""Requests that are broken off: nothing half is carried out, and the log stays small."""

import asyncio
import base64
import json
import signal
from typing import Any

import pytest
from starlette.types import Message

from tests.twins.sites import PASSWORD, make_user, open_site
from tests.wire.processes import Server, running_server

HOST = b"host: localhost\r\n"
MANY = 300


def events_in(server: Server) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.logged().splitlines()]


def stop(server: Server) -> list[dict[str, Any]]:
    """All that the server has logged by its end."""
    server.signal(signal.SIGTERM)
    server.wait()
    return events_in(server)


def leave(server: Server, path: bytes) -> None:
    with server.connect() as wire:
        wire.sendall(b"POST " + path + b" HTTP/1.1\r\n" + HOST + b"content-length: 9\r\n\r\n{")


@pytest.mark.parametrize("path", [b"/api/beat", b"/api/upload_pgn", b"/api/echo"])
def test_a_request_that_breaks_off_is_no_line_of_a_usual_log(
    tmp_path_factory: pytest.TempPathFactory, path: bytes
) -> None:
    with running_server(tmp_path_factory.mktemp("usual")) as server:
        for _ in range(10):
            leave(server, path)
        server.exchange(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert [each for each in stop(server) if each["level"] != "info"] == []


@pytest.mark.parametrize("path", [b"/api/beat", b"/api/echo"])
def test_a_request_that_breaks_off_is_one_short_line_for_those_who_look_closely(
    tmp_path_factory: pytest.TempPathFactory, path: bytes
) -> None:
    settings = {"ROOKERY_LOG_LEVEL": "debug"}
    with running_server(tmp_path_factory.mktemp("close"), settings=settings) as server:
        leave(server, path)
        server.until_logged("request_broken_off")
        lines = stop(server)
    (line,) = [each for each in lines if each["event"] == "request_broken_off"]
    assert line["level"] == "debug"
    assert len(json.dumps(line)) < 300
    assert [each for each in lines if each["level"] not in {"info", "debug"}] == []


def test_mistakes_without_end_are_counted_and_not_repeated(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with running_server(tmp_path_factory.mktemp("flood")) as server:
        for _ in range(MANY):
            server.exchange(b"GET /nowhere HTTP/1.0\r\n\r\n")
        server.exchange(b"nonsense\r\n\r\n")
        lines = stop(server)
    refused = [each for each in lines if each["event"] == "request_refused"]
    left_out = [each for each in lines if each["event"] == "log_lines_left_out"]
    assert {each["of"] for each in left_out} == {"request_refused"}
    assert len(refused) + sum(each["count"] for each in left_out) == MANY
    assert len(refused) < MANY
    # Another mistake is not hidden by them.
    assert [each["event"] for each in lines].count("request_unreadable") == 1


@pytest.mark.anyio
async def test_a_command_whose_body_breaks_off_is_not_carried_out() -> None:
    async with open_site() as site:
        await make_user(site.parts)
        password = base64.b64encode(f"ada:{PASSWORD}".encode())

        async def receive() -> Message:
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            del message

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/api/v1/tokens",
            "raw_path": b"/api/v1/tokens",
            "query_string": b"",
            "root_path": "",
            "headers": [
                (b"host", b"localhost"),
                (b"authorization", b"Basic " + password),
                (b"content-length", b"20"),
            ],
            "client": ("192.0.2.7", 1),
            "server": ("127.0.0.1", 80),
        }
        async with asyncio.timeout(60):
            await site.app(scope, receive, send)
        assert list(await site.parts.tokens.of("ada")) == []
        assert site.log.events() == ["request_broken_off"]
