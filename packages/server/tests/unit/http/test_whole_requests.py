"""Requests of workers that come whole in one piece are read without a parser's callbacks, and
only those."""

import pytest

from rookery.server.http.whole_requests import WholeRequest, parse_whole_request

HEAD = b"POST /api/beat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"


def test_a_plain_request_is_read() -> None:
    headers = {b"host": b"localhost", b"content-length": b"2", b"x-a": b"b  c"}
    found = parse_whole_request(HEAD + b"X-A:  b  c \r\n\r\n{}")
    assert found == WholeRequest("/api/beat", headers, b"{}")


def test_a_connection_may_be_kept_alive() -> None:
    assert parse_whole_request(HEAD + b"connection: Keep-Alive\r\n\r\n{}") is not None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"POST /api/beat HTTP/1.1\r\n",
        b"POST /api/beat HTTP/1.1\r\n\r\n{}",
        HEAD,
        HEAD + b"\r\n{",
        HEAD + b"\r\n{}{",
        HEAD + b"\r\n{}POST",
        HEAD + b"content-length: 2\r\n\r\n{}",
        HEAD + b"host: elsewhere\r\n\r\n{}",
        HEAD + b"transfer-encoding: chunked\r\n\r\n{}",
        HEAD + b"expect: 100-continue\r\n\r\n{}",
        HEAD + b"connection: close\r\n\r\n{}",
        HEAD + b"connection: upgrade\r\nupgrade: websocket\r\n\r\n{}",
        HEAD + b"x-a: b\r\n folded\r\n\r\n{}",
        HEAD + b"x-a : b\r\n\r\n{}",
        HEAD + b"x-a: \xff\r\n\r\n{}",
        HEAD + b"x-a: b\0\r\n\r\n{}",
        HEAD + b"x-a: b\nx-b: c\r\n\r\n{}",
        HEAD + b"x-a b\r\n\r\n{}",
        HEAD.replace(b"POST", b"GET") + b"\r\n{}",
        HEAD.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\n{}",
        HEAD.replace(b"/api/beat", b"/api/beat?x") + b"\r\n{}",
        HEAD.replace(b"/api/beat", b"/api/b%65at") + b"\r\n{}",
        HEAD.replace(b": 2", b": +2") + b"\r\n{}",
        HEAD.replace(b": 2", b": 02") + b"\r\n{}",
        HEAD + b"".join(b"x-%d: y\r\n" % number for number in range(40)) + b"\r\n{}",
    ],
)
def test_whatever_is_less_than_plain_is_for_the_parser(data: bytes) -> None:
    assert parse_whole_request(data) is None
