"""Response fields of the operator's own."""

import socket

import pytest

from rookery_asgi.errors import BadOption
from rookery_asgi.fields import MOST, read_fields
from rookery_asgi.types import Receive, Scope, Send
from tests.machine import GET, Machine, answer, hello, play
from tests.serving import APP, ask, read_response, serve
from tests.test_ws_session import shake

FIELDS = (b"x-frame-options: DENY\r\n", b"x-b: 1\r\n", b"x-b: 2\r\n")


def test_every_response_has_them() -> None:
    async def story() -> None:
        machine = Machine(hello, fields=FIELDS)
        for request in (GET, b"rubbish\r\n\r\n"):
            head = (await machine.ask(request)).partition(b"\r\n\r\n")[0] + b"\r\n"
            assert all(head.count(field) == 1 for field in FIELDS)

    play(story)


def test_the_applications_own_stand_in_their_place() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, headers=[(b"X-Frame-Options", b"SAMEORIGIN"), (b"x-bb", b"3")])

    async def story() -> None:
        said = await Machine(app, fields=FIELDS).ask(GET)
        assert said.lower().count(b"x-frame-options") == 1
        assert b"SAMEORIGIN" in said
        assert said.count(b"x-b: ") == 2

    play(story)


def test_a_start_that_failed_leaves_nothing_of_them() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200}
        with pytest.raises(RuntimeError):
            await send({**start, "headers": [(b"x-b", b"3"), (b"a b", b"")]})
        await answer(send)

    async def story() -> None:
        assert (await Machine(app, fields=FIELDS).ask(GET)).count(b"x-b: ") == 2

    play(story)


@pytest.mark.parametrize(
    "given", ["nothing", ": x", "a b: c", "a: b\r\nc: d", "a: \u20ac", "Content-Length: 1"]
)
def test_what_can_not_be_a_field_is_refused(given: str) -> None:
    with pytest.raises(BadOption, match="--header"):
        read_fields([given])


def test_there_may_be_thirty_two_of_them() -> None:
    with pytest.raises(BadOption, match="more than 32"):
        read_fields(f"x-{number}: 1" for number in range(MOST + 1))
    fields = [f"x-{number}: 1" for number in range(MOST)]
    with serve(APP, *(word for field in fields for word in ("--header", field))) as served:
        said = ask(served, "/")
        assert all(f"{field}\r\n".encode() in said for field in fields)


def test_the_server_and_the_date_can_be_replaced_and_handshakes_have_them_too() -> None:
    options = ("--header", "Server: me", "--header", "Strict-Transport-Security: max-age=1")
    with serve(APP, *options, "--header", "date: never") as served:
        with served.connect() as sock:
            sock.sendall(shake())
            handshake = sock.recv(65536)
        for said in (ask(served, "/"), handshake, refused(served.connect())):
            assert said.count(b"server: me\r\n") == said.count(b"server:") == 1
            assert said.count(b"date: never\r\n") == said.count(b"date:") == 1
            assert b"strict-transport-security: max-age=1\r\n" in said


def refused(sock: socket.socket) -> bytes:
    with sock:
        sock.sendall(b"GET / HTTP/9.9\r\n\r\n")
        return read_response(sock)
