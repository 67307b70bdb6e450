"""What the head of a request may be, before anything of it is believed.

Rookery speaks HTTP/1.0 and 1.1 and nothing else, and a request of which two programs could read the
end at different places is refused: a proxy in front might take the rest for the next request.
rookery-asgi refuses these heads by itself. The parser below uvicorn accepts some of them, so that
its connection asks here. tests/wire/test_request_policy.py holds both servers to the same list.
"""

from collections.abc import Sequence
from http import HTTPStatus
from typing import NamedTuple


class RefusedRequest(NamedTuple):
    """How a request that can't be read is answered, as the last one of its connection, and the name
    of its log line."""

    status: int
    text: str
    event: str = "request_unreadable"


class RequestRefused(Exception):
    """Ends a parser's work at a head that may not be."""


UNREADABLE = RefusedRequest(400, "The request can't be read.")
HEAD_TOO_LARGE = RefusedRequest(
    431, "The request's headers are too large or many.", "request_head_too_large"
)
_OTHER_HTTP = RefusedRequest(505, "This server speaks HTTP/1.0 and HTTP/1.1 only.")
_NO_TUNNELS = RefusedRequest(501, "This server is no proxy.")
_NO_UPGRADE = RefusedRequest(400, "This server changes to no other protocol.")
_FRAGMENT = RefusedRequest(400, "The address has a fragment, which is never sent to a server.")

_ONE_HOST = RefusedRequest(400, "A request names one host.")
_OTHER_CODING = RefusedRequest(501, "A body comes as it is, or in chunks.")

VERSIONS = frozenset({"1.0", "1.1"})
Headers = Sequence[tuple[bytes, bytes]]
"""Lower-case names and values."""


def why_refused(
    version: str, method: bytes, target: bytes, headers: Headers, *, upgrades: bool
) -> RefusedRequest | None:
    """Why this head is refused, None if it is not. `upgrades` says that its sender asks for another
    protocol: parsers disagree about whether such a request has a body."""
    if version not in VERSIONS:
        return _OTHER_HTTP
    if method == b"CONNECT":
        return _NO_TUNNELS
    if upgrades:
        return _NO_UPGRADE
    if b"#" in target:
        return _FRAGMENT
    return _why_headers_refused(version, headers)


def _why_headers_refused(version: str, headers: Headers) -> RefusedRequest | None:
    hosts, codings = 0, b""
    for name, value in headers:
        if name == b"host":
            hosts += 1
        elif name == b"transfer-encoding":
            codings += value.lower()
    if hosts > 1 or (not hosts and version == "1.1"):
        return _ONE_HOST
    if codings and version == "1.0":
        return UNREADABLE
    return _OTHER_CODING if codings not in {b"", b"chunked"} else None


def encode_refusal(refusal: RefusedRequest, headers: Headers) -> bytes:
    """The last answer of a connection, with these headers and its own."""
    body = f"{refusal.text}\n".encode()
    own = (
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    )
    status = HTTPStatus(refusal.status)
    lines = b"".join(b"%b: %b\r\n" % each for each in (*headers, *own))
    return b"HTTP/1.1 %d %b\r\n%b\r\n%b" % (status, status.phrase.encode(), lines, body)
