"""Requests that no client library would send, on the wire of a real server."""

import pytest

from rookery.server.carriers.serving import HEAD_BYTES
from tests.wire.processes import Server

END = b"\r\nhost: localhost\r\nconnection: close\r\n\r\n"


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET /\0 HTTP/1.1",
        b"GET /a b HTTP/1.1",
        b"nonsense",
        b"\xff\xfe / HTTP/1.1",
        b"GET http:// HTTP/1.1",
        b"GET / HTTP/1.1\r\nx: \0",
        b"GET / HTTP/1.1\r\nbad header: x",
        b"POST / HTTP/1.1\r\ncontent-length: -1",
        b"POST / HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked",
    ],
)
def test_what_is_no_http_is_refused_and_logged(server: Server, request_line: bytes) -> None:
    answer = server.exchange(request_line + END)
    assert status_of(answer) == 400
    server.until_logged("request_unreadable")


def test_another_http_is_refused(server: Server) -> None:
    # 505 says it best; uvicorn's parser knows only that it can't read it.
    assert status_of(server.exchange(b"GET / HTTP/9.9" + END)) in {400, 505}
    server.until_logged("request_unreadable")


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /%zz HTTP/1.1", 400),
        (b"GET /%00 HTTP/1.1", 400),
        (b"GET /caf\xc3\xa9 HTTP/1.1", 400),
        (b"GET //nowhere HTTP/1.1", 404),
        (b"OPTIONS * HTTP/1.1", 404),
        (b"GET /healthz HTTP/1.1", 200),
        (b"HEAD /healthz HTTP/1.1", 200),
        (b"DELETE /healthz HTTP/1.1", 405),
    ],
)
def test_strange_requests_are_answered(server: Server, request_line: bytes, status: int) -> None:
    assert status_of(server.exchange(request_line + END)) == status


def test_two_hosts_are_one_too_many(server: Server) -> None:
    assert status_of(server.exchange(b"GET / HTTP/1.1\r\nhost: localhost" + END)) == 400


def test_http_1_1_needs_a_host(server: Server) -> None:
    assert status_of(server.exchange(b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n")) == 400


def test_an_old_probe_needs_none(server: Server) -> None:
    assert status_of(server.exchange(b"GET /healthz HTTP/1.0\r\n\r\n")) == 200


def test_headers_without_end_are_cut_off(server: Server) -> None:
    with server.connect() as wire:
        wire.sendall(b"GET / HTTP/1.1\r\nx: ")
        wire.sendall(b"x" * (HEAD_BYTES + 1))
        assert status_of(wire.recv(1000)) == 431
    server.until_logged("request_head_too_large")


def test_large_headers_get_an_answer_of_the_app(server: Server) -> None:
    answer = server.exchange(b"GET /api/x HTTP/1.1\r\nx: " + b"x" * 40_000 + END)
    assert status_of(answer) == 431
    assert b'"duration":' in answer


def test_a_body_with_its_head_in_one_piece_is_no_large_head(server: Server) -> None:
    body = b'{"name": "' + b"x" * 65_500 + b'"}'
    length = f"\r\ncontent-length: {len(body)}".encode()
    answer = server.exchange(b"POST /api/echo HTTP/1.1" + length + END + body)
    assert status_of(answer) == 200


def test_who_sends_too_much_in_one_piece_reads_the_answer_before_the_end(server: Server) -> None:
    body = b'{"name": "' + b"x" * 900_000 + b'"}'
    length = f"\r\ncontent-length: {len(body)}".encode()
    answer = server.exchange(b"POST /api/echo HTTP/1.1" + length + END + body)
    assert status_of(answer) == 413


def test_head_sends_no_body(server: Server) -> None:
    head = server.exchange(b"HEAD / HTTP/1.1" + END)
    assert head.endswith(b"\r\n\r\n")
    assert b"content-length: " in head


def test_one_connection_serves_several_requests(server: Server) -> None:
    ask = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
    answer = server.exchange(ask * 3 + b"GET /healthz HTTP/1.1" + END)
    assert answer.count(b"200 OK") == 4


def test_open_connections_are_counted(server: Server) -> None:
    with server.connect() as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert status_of(idle.recv(1000)) == 200
        shown = server.exchange(b"GET /metrics HTTP/1.1" + END).decode()
    line = next(one for one in shown.splitlines() if one.startswith("rookery_connections_open "))
    # Those of earlier tests may still be closing.
    assert float(line.split()[1]) >= 2
