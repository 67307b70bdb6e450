"""The parser of request heads: the same outcome whole and byte by byte."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery_asgi import _core

LINE, HEAD = 16384, 65536


def parse(data: bytes, step: int = 0, line: int = LINE, head: int = HEAD) -> Any:
    return _core.parse_head(data, step or max(1, len(data)), line, head)


def same_both_ways(data: bytes) -> Any:
    whole = parse(data)
    assert parse(data, 1) == whole
    assert parse(data, 3) == whole
    return whole


def with_headers(*lines: bytes, method: bytes = b"POST") -> bytes:
    return b"\r\n".join([method + b" / HTTP/1.1", b"Host: a", *lines, b"", b""])


def test_a_request_is_taken_apart() -> None:
    data = b"GET /a?b=c HTTP/1.1\r\nHost: example.org:80\r\nX-A:  1 \t\r\nx-a:2\r\n\r\n"
    used, method, target, minor, fields, length, chunked, keep = same_both_ways(data + b"rest")
    assert (used, method, target, minor) == (len(data), b"GET", b"/a?b=c", 1)
    assert fields == [(b"Host", b"example.org:80"), (b"X-A", b"1"), (b"x-a", b"2")]
    assert (length, chunked, keep) == (-1, False, True)


def test_any_number_of_headers_fits_within_the_byte_limit() -> None:
    lines = [b"x-%d: %d" % (i, i) for i in range(2000)]
    assert len(same_both_ways(with_headers(*lines))[4]) == 2001


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_head_that_is_cut_off_needs_more(cut: int) -> None:
    data = b"GET /path HTTP/1.1\r\nHost: example\r\n\r\n"
    assert parse(data[: len(data) - cut] if cut < len(data) else b"G") == 0


@pytest.mark.parametrize(
    "line",
    [b"content-length: 5", b"Content-Length:5", b"CONTENT-LENGTH:\t5  "],
)
def test_a_content_length_is_read(line: bytes) -> None:
    assert same_both_ways(with_headers(line))[5] == 5


@pytest.mark.parametrize("line", [b"transfer-encoding: chunked", b"Transfer-Encoding: ChunKed"])
def test_chunked_is_recognised(line: bytes) -> None:
    assert same_both_ways(with_headers(line))[6] is True


SMUGGLING = {
    "length and chunked": with_headers(b"content-length: 5", b"transfer-encoding: chunked"),
    "chunked and length": with_headers(b"transfer-encoding: chunked", b"content-length: 5"),
    "two equal lengths": with_headers(b"content-length: 5", b"content-length: 5"),
    "two lengths": with_headers(b"content-length: 5", b"content-length: 6"),
    "a list of lengths": with_headers(b"content-length: 5, 5"),
    "a signed length": with_headers(b"content-length: +5"),
    "a negative length": with_headers(b"content-length: -5"),
    "a hexadecimal length": with_headers(b"content-length: 0x5"),
    "a length with a space": with_headers(b"content-length: 1 0"),
    "an empty length": with_headers(b"content-length: "),
    "a length beyond all bounds": with_headers(b"content-length: 99999999999999999999"),
    "chunked twice": with_headers(b"transfer-encoding: chunked", b"transfer-encoding: chunked"),
    "chunked twice in a list": with_headers(b"transfer-encoding: chunked, chunked"),
    "chunked in HTTP/1.0": b"POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n",
    "a space before the colon": with_headers(b"content-length : 5"),
    "a tab before the colon": with_headers(b"transfer-encoding\t: chunked"),
    "a folded line": with_headers(b"x: 1\r\n y"),
    "a line folded by a tab": with_headers(b"x: 1\r\n\ty"),
    "a fold before the first header": b"GET / HTTP/1.1\r\n Host: a\r\n\r\n",
    "a bare line feed after the request line": b"GET / HTTP/1.1\nHost: a\r\n\r\n",
    "a bare line feed after a header": b"GET / HTTP/1.1\r\nHost: a\n\r\n",
    "a bare line feed in a value": with_headers(b"x: 1\ny: 2"),
    "a bare carriage return in a value": with_headers(b"x: 1\ry: 2"),
    "a bare line feed at the end": b"GET / HTTP/1.1\r\nHost: a\r\n\n",
    "a NUL in a value": with_headers(b"x: a\0b"),
    "a NUL in a name": with_headers(b"x\0y: a"),
    "a NUL in the target": b"GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n",
    "a control character in a value": with_headers(b"x: a\x01b"),
    "DEL in a value": with_headers(b"x: a\x7fb"),
    "an empty name": with_headers(b": x"),
    "a header without a colon": with_headers(b"content-length"),
    "a name that is no token": with_headers(b"content length: 5"),
    "a name beyond ASCII": with_headers(b"x\xff: 5"),
    "no Host": b"GET / HTTP/1.1\r\n\r\n",
    "two Hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    "a Host with a path": b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
    "a Host with two names": b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
    "a Host with user information": b"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n",
    "a target without a slash": b"GET a HTTP/1.1\r\nHost: a\r\n\r\n",
    "an empty target": b"GET  HTTP/1.1\r\nHost: a\r\n\r\n",
    "two spaces": b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
    "a tab instead of a space": b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "a space after the version": b"GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
    "a target beyond ASCII": b"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n",
    "a fragment in the target": b"GET /#a HTTP/1.1\r\nHost: a\r\n\r\n",
    "an asterisk for GET": b"GET * HTTP/1.1\r\nHost: a\r\n\r\n",
    "a method that is no token": b"GE(T / HTTP/1.1\r\nHost: a\r\n\r\n",
    "no version": b"GET /\r\nHost: a\r\n\r\n",
    "a lower-case version": b"GET / http/1.1\r\nHost: a\r\n\r\n",
    "a version of two digits": b"GET / HTTP/1.10\r\nHost: a\r\n\r\n",
    "a TLS greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "too many empty lines": b"\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
}


@pytest.mark.parametrize("data", SMUGGLING.values(), ids=SMUGGLING.keys())
def test_what_a_proxy_might_read_otherwise_is_refused(data: bytes) -> None:
    assert same_both_ways(data) == -400


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", -505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", -505),
        (b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", -501),
        (with_headers(b"transfer-encoding: gzip"), -501),
        (with_headers(b"transfer-encoding: gzip, chunked"), -501),
        (with_headers(b"transfer-encoding: identity"), -501),
        (with_headers(b"expect: tea"), -417),
        (b"X" * 80, -501),
    ],
)
def test_what_is_not_spoken_here_has_its_own_status(data: bytes, status: int) -> None:
    assert same_both_ways(data) == status


def test_garbage_is_refused_at_its_first_byte() -> None:
    assert parse(b"\x00") == -400
    assert parse(b"GET / HTTQ") == -400


@pytest.mark.parametrize("step", [1, 7, 4096])
def test_a_request_line_has_a_limit(step: int) -> None:
    data = b"GET /" + b"a" * 200 + b" HTTP/1.1\r\nHost: a\r\n\r\n"
    assert parse(data, step, line=100) == -414
    assert parse(data, step, line=300)[0] == len(data)


@pytest.mark.parametrize("step", [1, 7, 4096])
def test_a_head_has_a_limit(step: int) -> None:
    data = with_headers(b"x: " + b"a" * 500)
    assert parse(data, step, head=400) == -431
    assert parse(data, step, head=len(data))[0] == len(data)
    assert parse(data, step, head=len(data) - 1) == -431


@pytest.mark.parametrize(
    ("version", "connection", "keep"),
    [
        (b"1.1", b"", True),
        (b"1.1", b"close", False),
        (b"1.1", b"Keep-Alive, CLOSE", False),
        (b"1.0", b"", False),
        (b"1.0", b"keep-alive", True),
        (b"1.0", b"keep-alive, close", False),
    ],
)
def test_keep_alive_follows_version_and_header(
    version: bytes, connection: bytes, keep: bool
) -> None:
    data = b"GET / HTTP/" + version + b"\r\nHost: a\r\nConnection: " + connection + b"\r\n\r\n"
    assert same_both_ways(data)[7] is keep


@pytest.mark.parametrize("target", [b"/", b"/%00", b"http://a/b", b"HTTPS://a:1/b?c", b"/a//b?c?d"])
def test_targets_in_origin_and_absolute_form_are_accepted(target: bytes) -> None:
    assert same_both_ways(b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n")[2] == target


def test_options_may_ask_for_the_server_itself() -> None:
    assert same_both_ways(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")[2] == b"*"


def test_empty_lines_before_a_request_are_ignored() -> None:
    assert same_both_ways(b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")[1] == b"GET"


@given(st.binary(max_size=300), st.integers(1, 7))
@settings(max_examples=300, deadline=None)
def test_any_bytes_have_the_same_outcome_in_any_pieces(data: bytes, step: int) -> None:
    assert parse(data, step) == parse(data)


@given(
    st.lists(st.sampled_from([b"GET", b" ", b"/", b"HTTP/1.1", b"\r\n", b"\r", b"\n", b"Host: a",
                              b"content-length: 3", b"transfer-encoding: chunked", b":", b"\0",
                              b"x", b"\t", b"HTTP/1.0"]), max_size=20),
    st.integers(1, 5),
)  # fmt: skip
@settings(max_examples=500, deadline=None)
def test_pieces_of_requests_have_the_same_outcome_in_any_pieces(
    parts: list[bytes], step: int
) -> None:
    data = b"".join(parts)
    assert parse(data, step) == parse(data)
