"""Reads a request's head from Mongoose's receive buffer, and makes the scope.

Mongoose decides where a message ends; this reads the same bytes again, since `HttpMessage` gives
neither exact bytes nor more than thirty headers, and refuses whatever the two could read
differently.
"""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from rookery_asgi.types import Header, Scope

HEADERS_MOST = 30
TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-~]+) HTTP/1\.([01])")
CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
ABSOLUTE = re.compile(rb"https?://[^/?]*", re.IGNORECASE)


class Refused(Exception):
    """The request can't be served; carries the status that says why."""

    def __init__(self, status: int) -> None:
        """With a status of the 4xx or 5xx classes."""
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """A request line and its headers."""

    method: str
    target: bytes
    version: str
    headers: list[Header]
    size: int

    def values(self, name: bytes) -> list[bytes]:
        """All values of a header."""
        return [value for key, value in self.headers if key == name]

    def names(self, name: bytes, token: bytes) -> bool:
        """Whether a list header has that token."""
        parts = b",".join(self.values(name)).lower().split(b",")
        return token in (part.strip() for part in parts)

    @property
    def length(self) -> int | None:
        """What Content-Length says."""
        values = self.values(b"content-length")
        return int(values[0]) if values else None

    @property
    def chunked(self) -> bool:
        """Whether the body comes in chunks."""
        return bool(self.values(b"transfer-encoding"))

    @property
    def keep_alive(self) -> bool:
        """Whether another request may follow.

        Mongoose takes a POST or PUT without a length for longer than it is, and would swallow the
        request behind it.
        """
        bare = self.method in ("POST", "PUT") and self.length is None and not self.chunked
        return self.version == "1.1" and not bare and not self.names(b"connection", b"close")


def read_head(raw: bytes, *, line_most: int, head_most: int) -> Head:
    """The head at the beginning of the bytes, of which Mongoose says that it is whole."""
    end = raw.find(b"\r\n\r\n")
    if end < 0:
        raise Refused(400)
    first, *lines = raw[:end].split(b"\r\n")
    found = REQUEST_LINE.fullmatch(first)
    if found is None:
        raise Refused(400)
    if line_most and len(first) > line_most:
        raise Refused(414)
    if len(lines) > HEADERS_MOST or (head_most and end > head_most):
        raise Refused(431)
    method, target, minor = found.groups()
    fields = [read_field(line) for line in lines]
    head = Head(method.decode(), relative(target), "1." + minor.decode(), fields, end + 4)
    check_framing(head)
    return head


def read_field(line: bytes) -> Header:
    """A name in lower case and its value."""
    name, colon, value = line.partition(b":")
    if not colon or not TOKEN.fullmatch(name) or CONTROL.search(value):
        raise Refused(400)
    return name.lower(), value.strip(b" \t")


def relative(target: bytes) -> bytes:
    """The target without scheme and host, if it came with them."""
    found = ABSOLUTE.match(target)
    rest = target[found.end() :] if found else target
    if found and not rest.startswith(b"/"):
        rest = b"/" + rest
    if not rest.startswith(b"/") and rest != b"*":
        raise Refused(400)
    return rest


def check_framing(head: Head) -> None:
    """What two servers might read differently is refused."""
    hosts, lengths = head.values(b"host"), head.values(b"content-length")
    if len(hosts) > 1 or (head.version == "1.1" and not hosts):
        raise Refused(400)
    if len(lengths) > 1 or not all(value.isdigit() for value in lengths):
        raise Refused(400)
    encodings = [value.lower() for value in head.values(b"transfer-encoding")]
    if encodings and (head.version == "1.0" or lengths):
        raise Refused(400)
    if encodings not in ([], [b"chunked"]):
        raise Refused(501)


def make_scope(head: Head, kind: str, *, root_path: str, **fields: Any) -> Scope:
    """The scope of a request or a WebSocket, shared with no other one."""
    path, _, query = head.target.partition(b"?")
    scope: dict[str, Any] = {
        "type": kind,
        "asgi": {"version": "3.0", "spec_version": "2.5"},
        "http_version": head.version,
        "scheme": "ws" if kind == "websocket" else "http",
        "path": root_path + unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": root_path.encode() + path,
        "query_string": query,
        "root_path": root_path,
        "headers": head.headers,
        "extensions": {},
        **fields,
    }
    if kind == "http":
        scope["method"] = head.method
    return scope
