"""Parses a plain worker request at once, without the callbacks of an HTTP parser."""

import re
from typing import NamedTuple


class WholeRequest(NamedTuple):
    """A POST request with its whole body. Each header occurs once."""

    path: str
    headers: dict[bytes, bytes]
    body: bytes


_LINE = re.compile(rb"POST (/api/[a-z_]+) HTTP/1\.1\r\n")
_HEADER = re.compile(
    rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)[ \t]*\r\n"
)
_MOST_HEADERS = 32
_SPECIAL = frozenset({b"transfer-encoding", b"expect", b"upgrade", b"te", b"trailer"})


def parse_whole_request(data: bytes) -> WholeRequest | None:
    """The request if these bytes are exactly one plain request to a worker path. None for anything
    else, which is left to the HTTP server's parser."""
    line = _LINE.match(data)
    if line is None:
        return None
    end = data.find(b"\r\n\r\n", line.end() - 2)
    headers = _headers_in(data, line.end(), end + 2)
    if end < 0 or headers is None:
        return None
    body = data[end + 4 :]
    is_plain = (
        headers.get(b"content-length") == b"%d" % len(body)
        and headers.get(b"connection", b"keep-alive").lower() == b"keep-alive"
        and _SPECIAL.isdisjoint(headers)
    )
    return WholeRequest(line[1].decode("ascii"), headers, body) if is_plain else None


def _headers_in(data: bytes, place: int, end: int) -> dict[bytes, bytes] | None:
    """Headers by their lower-case names. None if a line is malformed or a name is repeated."""
    headers: dict[bytes, bytes] = {}
    while place < end:
        header = _HEADER.match(data, place, end)
        if header is None or len(headers) == _MOST_HEADERS:
            return None
        name = header[1].lower()
        if name in headers:
            return None
        headers[name] = header[2]
        place = header.end()
    return headers
