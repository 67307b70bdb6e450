"""What a request may be, on the wire of a real server: one request, one answer, whatever it asks
for and in whatever pieces it arrives. Every HTTP server is held to this list."""

import contextlib
import json
import os
import re
import select
import socket
from collections.abc import Iterator, Sequence

import pytest

from rookery.server.carriers.serving import HEAD_BYTES
from tests.wire.processes import Server, read_to_end, running_server

HOST = b"host: localhost\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
LAST = b"GET /healthz HTTP/1.1\r\n" + HOST + b"connection: close\r\n\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n"
ENDED = b"0\r\n\r\n"
ON_UVICORN = os.environ.get("ROOKERY_HTTP", "uvicorn") == "uvicorn"
# More than sockets hold of what is not read.
MUCH = 40 * 1024 * 1024


def send_apart(server: Server, pieces: Sequence[bytes]) -> bytes:
    """Sends pieces that the server reads one by one, and returns all that it answers."""
    with server.connect() as wire:
        for piece in pieces:
            wire.sendall(piece)
            # The answer to another connection comes after a look at all that had arrived before.
            server.exchange(b"GET /healthz HTTP/1.0\r\n\r\n")
        wire.shutdown(socket.SHUT_WR)
        return read_to_end(wire)


def statuses_in(answers: bytes) -> list[int]:
    return [int(each) for each in re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", answers)]


def send_until_answered(server: Server, head: bytes, piece: bytes) -> tuple[int, bytes]:
    """Sends a piece again and again until something comes back; returns the number of bytes sent
    and all that is answered."""
    sent = 0
    with server.connect() as wire:
        wire.sendall(head)
        answers = b""
        # A server that closes before it has read everything resets the connection.
        with contextlib.suppress(ConnectionError):
            while sent < MUCH and not select.select([wire], [wire], [])[0]:
                sent += wire.send(piece)
            while received := wire.recv(65536):
                answers += received
        return sent, answers


# A request that asks for another protocol.


def framed(body: bytes, framing: str) -> tuple[bytes, bytes]:
    if framing == "length":
        return f"content-length: {len(body)}\r\n".encode(), body
    return CHUNKED, b"%x\r\n%b\r\n%b" % (len(body), body, ENDED)


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("protocol", [b"foo", b"websocket", b"h2c", b"TLS/1.0"])
def test_a_body_after_an_upgrade_is_never_a_request(
    server: Server, protocol: bytes, framing: str, together: bool
) -> None:
    header, body = framed(HEALTH, framing)
    asks = b"connection: upgrade\r\nupgrade: %b\r\n" % protocol
    head = b"POST /login HTTP/1.1\r\n" + HOST + asks + header + b"\r\n"
    answers = send_apart(server, [head + body] if together else [head, body])
    assert statuses_in(answers) == [400 if ON_UVICORN else 403]


def test_what_follows_an_upgrade_is_not_carried_out(server: Server) -> None:
    asks = b"connection: upgrade\r\nupgrade: foo\r\n"
    answers = send_apart(server, [b"GET /healthz HTTP/1.1\r\n" + HOST + asks + b"\r\n", HEALTH])
    if ON_UVICORN:
        assert statuses_in(answers) == [400]
        assert b"\r\nconnection: close\r\n" in answers
    else:
        # This server needs no guess where the request ends, and overlooks the wish.
        assert statuses_in(answers) == [200, 200]


def test_the_refusal_of_an_upgrade_is_one_line_in_the_log(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with running_server(tmp_path_factory.mktemp("quiet")) as quiet:
        send_apart(quiet, [b"CONNECT a:1 HTTP/1.1\r\n" + HOST + b"\r\n"])
        quiet.until_logged("request_unreadable")
        events = [json.loads(line) for line in quiet.logged().splitlines()]
    assert [each["event"] for each in events if each["level"] != "info"] == ["request_unreadable"]


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"CONNECT localhost:80 HTTP/1.1", 501),
        (b"GET /healthz HTTP/2.0", 505),
        (b"GET /healthz#here HTTP/1.1", 400),
        (b"GET http://localhost/healthz#here HTTP/1.1", 400),
    ],
)
def test_no_other_protocol_and_no_fragment_is_served(
    server: Server, line: bytes, status: int
) -> None:
    answers = send_apart(server, [line + b"\r\n" + HOST + b"\r\n", HEALTH])
    assert statuses_in(answers) == [status]


# Trailers, and what else may come between the pieces of a body.


@pytest.fixture(scope="module")
def behind_a_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"ROOKERY_TRUSTED_PROXIES": "127.0.0.1"}
    with running_server(tmp_path_factory.mktemp("proxied"), settings=settings) as started:
        yield started


def test_a_trailer_is_no_header(behind_a_proxy: Server) -> None:
    head = b"GET /callerz HTTP/1.1\r\n" + HOST + b"x-forwarded-for: 192.0.2.1\r\n" + CHUNKED
    answers = send_apart(
        behind_a_proxy, [head + b"\r\n0\r\nx-forwarded-for: 192.0.2.2\r\nhost: other\r\n\r\n"]
    )
    assert statuses_in(answers) == [200]
    assert json.loads(answers.partition(b"\r\n\r\n")[2])["address"] == "192.0.2.1"


@pytest.mark.parametrize("path", [b"/api/beat", b"/api/echo", b"/login"])
@pytest.mark.parametrize(
    ("before", "piece"),
    [
        (b"0\r\n", b"a:b\r\n" * 1000),
        (b"0\r\na: ", b"b" * 5000),
        (b"0\r\n", b"a" * 5000),
        (b"1;", b"a" * 5000),
    ],
    ids=["trailers", "one trailer", "a trailer's name", "a chunk's extension"],
)
def test_what_is_neither_head_nor_body_has_an_end(
    server: Server, path: bytes, before: bytes, piece: bytes
) -> None:
    head = b"POST " + path + b" HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n1\r\n{\r\n"
    sent, answers = send_until_answered(server, head + before, piece)
    assert sent < MUCH
    # Who still sends when the connection is closed may lose the answer to its reset.
    assert statuses_in(answers) in ([], [400], [403], [431])


def test_few_trailers_do_no_harm(server: Server) -> None:
    trailers = b"checksum: abc\r\n" * 20
    head = b"POST /api/echo HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n"
    body = b'f\r\n{"name": "ada"}\r\n0\r\n'
    answers = send_apart(server, [head, body + trailers, b"\r\n" + HEALTH])
    assert statuses_in(answers) == [200, 200]


@pytest.mark.parametrize(
    "trailer",
    [
        b"connection: close",
        b"connection: upgrade\r\nupgrade: foo",
        b"content-length: 5",
        b"transfer-encoding: chunked",
    ],
)
def test_a_trailer_says_nothing_about_the_connection(server: Server, trailer: bytes) -> None:
    head = b"POST /api/echo HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n"
    body = b'f\r\n{"name": "ada"}\r\n0\r\n' + trailer + b"\r\n\r\n"
    answers = send_apart(server, [head + body, HEALTH])
    if b"connection" in trailer or not ON_UVICORN:
        assert statuses_in(answers) == [200, 200]
    else:
        # The parser below uvicorn refuses these.
        assert statuses_in(answers) == [400]


def test_a_body_that_goes_wrong_after_the_answer_gets_no_second_one(server: Server) -> None:
    head = b"POST /healthz HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n"
    answers = send_apart(server, [head, b"1\r\nx\r\n", b"no chunk\r\n\r\n" + HEALTH])
    assert statuses_in(answers) == [405]


def test_each_request_may_have_trailers(server: Server) -> None:
    head = b"POST /api/echo HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n"
    body = b'f\r\n{"name": "ada"}\r\n0\r\n' + b"a: b\r\n" * 1000 + b"\r\n"
    times = 1 + HEAD_BYTES // len(body)
    assert statuses_in(send_apart(server, [head + body] * times)) == [200] * times


# Requests that are sent ahead.


def test_a_refusal_waits_for_the_answers_before_it(server: Server) -> None:
    slow = b"GET /slow/hold/0.3 HTTP/1.1\r\n" + HOST + b"\r\n"
    answers = server.exchange(slow + HEALTH + b"nonsense\r\n\r\n" + HEALTH)
    assert statuses_in(answers) == [200, 200, 400]


def test_requests_sent_ahead_are_answered_in_turn(server: Server) -> None:
    paths = [b"/healthz", b"/nowhere", b"/slow/hold/0.05", b"/healthz"] * 10
    heads = [b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n" for path in paths]
    body = b"POST /api/echo HTTP/1.1\r\n" + HOST + b'content-length: 15\r\n\r\n{"name": "ada"}'
    answers = server.exchange(b"".join(head + body for head in heads) + LAST)
    expected = [404 if path == b"/nowhere" else 200 for path in paths]
    assert statuses_in(answers)[:-1:2] == expected
    assert set(statuses_in(answers)[1::2]) == {200}


def test_nothing_after_the_last_request_is_carried_out(server: Server) -> None:
    assert statuses_in(server.exchange(HEALTH + LAST + HEALTH * 3)) == [200, 200]
