"""What the application is told of a request, without sockets."""

from typing import Any

import pytest

from rookery_asgi.options import Options
from rookery_asgi.server import Hooks
from rookery_asgi.types import Receive, Scope, Send
from tests.machine import (
    GET,
    Machine,
    Recorder,
    answer,
    play,
    settle,
)
from tests.test_ws_session import shake


def scope_for(request: bytes, **options: Any) -> Scope:
    found: list[Scope] = []

    async def story() -> None:
        app = Recorder()
        await Machine(app, **options).feed(request)
        found.extend(app.scopes)

    play(story)
    return found[0]


def test_a_scope_has_what_the_specification_asks_for() -> None:
    scope = scope_for(b"GET /a%20b/%C3%A9?x=%20 HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a: 2\r\n\r\n")
    assert scope == {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.5"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/a b/é",
        "raw_path": b"/a%20b/%C3%A9",
        "query_string": b"x=%20",
        "root_path": "",
        "headers": [(b"host", b"h"), (b"x-a", b"1"), (b"x-a", b"2")],
        "client": ("10.0.0.1", 5000),
        "server": ("10.0.0.2", 80),
        "state": {},
        "extensions": {
            "http.response.pathsend": {},
            "http.response.zerocopysend": {},
            "http.response.trailers": {},
            "http.response.early_hint": {},
        },
    }


def test_every_request_has_a_state_of_its_own() -> None:
    async def story() -> None:
        shared = {"list": [1]}
        app = Recorder()
        await Machine(app, state=shared).feed(GET * 2)
        first, second = (scope["state"] for scope in app.scopes)
        assert first == second == shared
        assert first is not second
        assert first["list"] is shared["list"]

    play(story)


@pytest.mark.parametrize(
    ("target", "path", "raw", "query"),
    [
        (b"/", "/", b"/", b""),
        (b"/?", "/", b"/", b""),
        (b"/a?b?c", "/a", b"/a", b"b?c"),
        (b"http://x/a?b", "/a", b"/a", b"b"),
        (b"http://x", "/", b"/", b""),
        (b"http://x?q", "/", b"/", b"q"),
        (b"/%", "/%", b"/%", b""),
        (b"/%4", "/%4", b"/%4", b""),
        (b"/%zz", "/%zz", b"/%zz", b""),
        (b"/%2F%2f", "///", b"/%2F%2f", b""),
        (b"/%FF", "/�", b"/%FF", b""),
        (b"/%00", "/\0", b"/%00", b""),
    ],
)
def test_paths_are_decoded_and_kept_raw(target: bytes, path: str, raw: bytes, query: bytes) -> None:
    scope = scope_for(b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    assert (scope["path"], scope["raw_path"], scope["query_string"]) == (path, raw, query)


def test_the_root_path_is_part_of_the_path() -> None:
    scope = scope_for(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n", root_path="/api")
    assert (scope["root_path"], scope["path"], scope["raw_path"]) == ("/api", "/api/x", b"/api/x")


async def spoil(scope: Scope, receive: Receive, send: Send) -> None:
    for key in ("asgi", "extensions"):
        scope[key]["left"] = "behind"
        for inner in scope[key].values():
            if isinstance(inner, dict):
                inner["left"] = "behind"
    if scope["type"] == "websocket":
        await send({"type": "websocket.close"})
    else:
        await answer(send)


@pytest.mark.parametrize("request_bytes", [GET, shake()], ids=["http", "websocket"])
def test_what_an_application_writes_into_its_scope_no_other_sees(request_bytes: bytes) -> None:
    async def story() -> None:
        app = Recorder(spoil)

        async def switching(scope: Scope, receive: Receive, send: Send) -> None:
            await app(scope, receive, send)

        machine = Machine(switching, hooks=Hooks(Options(), switching, None))
        await machine.feed(request_bytes)
        app = Recorder()  # what the closure above calls from now on
        machine.core.connection().feed(request_bytes)
        await settle()
        assert "left" not in str(app.scopes[0])

    play(story)


def test_a_later_minor_version_is_spoken_to_as_1_1() -> None:
    scope = scope_for(b"GET / HTTP/1.2\r\nHost: h\r\n\r\n")
    assert scope["http_version"] == "1.1"
