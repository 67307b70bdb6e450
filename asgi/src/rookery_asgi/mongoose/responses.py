"""A response's bytes: what goes through `Connection.reply()`, and what is written by ourselves.

`reply()` keeps the connection alive and writes a content-length, but it takes each header once,
ends a body at the first NUL, adds a content type, and gives HEAD, 204 and 304 a body's head. So it
gets what it can say exactly. The rest is written as bytes: in chunks, whose end is the only other
thing that lets Mongoose read the next request, or with `connection: close`.
"""

import re
import time
from collections.abc import Iterable
from http import HTTPStatus

from cymongoose import Connection

from rookery_asgi.mongoose.state import _ConnState
from rookery_asgi.types import Header

# reply() writes byte by byte into a buffer that it enlarges in small steps.
REPLY_MOST = 16 * 1024
TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
FORBIDDEN = re.compile(rb"[\r\n\0]")
FRAMING = frozenset({b"content-length", b"transfer-encoding", b"connection"})
SERVER = b"rookery-asgi"


def has_body(method: str, status: int) -> bool:
    """Whether anything may follow the head."""
    return method != "HEAD" and status >= 200 and status not in (204, 304)


def phrase(status: int) -> bytes:
    """The status in words."""
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b""


def checked(headers: Iterable[Iterable[bytes]]) -> list[Header]:
    """The application's headers as pairs of bytes; it must not be able to split the response."""
    found = []
    for raw_name, raw_value in headers:
        name, value = bytes(raw_name), bytes(raw_value)
        if not TOKEN.fullmatch(name) or FORBIDDEN.search(value):
            raise RuntimeError("a response header has a character that headers can't have")
        found.append((name.lower(), value))
    return found


def own_headers(headers: list[Header], *, date: bool, server: bool) -> list[Header]:
    """Date and Server, unless the application gave them."""
    names = {name for name, _ in headers}
    own = []
    if date and b"date" not in names:
        own.append((b"date", time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime()).encode()))
    if server and b"server" not in names:
        own.append((b"server", SERVER))
    return own


def content_length(headers: list[Header]) -> int | None:
    """What the application says about its body's length."""
    for name, value in headers:
        if name == b"content-length":
            if not value.isdigit():
                raise RuntimeError("a content-length must be a number")
            return int(value)
    return None


def framed(headers: list[Header], *framing: Header) -> list[Header]:
    """The headers, with the server's own idea of how the message ends."""
    return [header for header in headers if header[0] not in FRAMING] + list(framing)


def format_head(status: int, headers: list[Header]) -> bytes:
    """A response's head as bytes."""
    lines = [b"HTTP/1.1 %d %s" % (status, phrase(status))]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"", b""])


def _format_chunked_header(status: int, headers: list[Header], *, keep_alive: bool) -> bytes:
    """The head of a response whose body comes in chunks."""
    end = () if keep_alive else ((b"connection", b"close"),)
    return format_head(status, framed(headers, (b"transfer-encoding", b"chunked"), *end))


def format_closing_header(status: int, headers: list[Header], length: int | None) -> bytes:
    """The head of a response that ends with the connection, or with a length known before."""
    known = [] if length is None or status == 204 else [(b"content-length", b"%d" % length)]
    return format_head(status, framed(headers, *known, (b"connection", b"close")))


def format_refusal(status: int, *, date: bool, server: bool) -> bytes:
    """The server's own answer to what it will not serve; the connection ends with it."""
    text = phrase(status) + b"\n"
    headers = [*own_headers([], date=date, server=server), (b"content-type", b"text/plain")]
    if status == 426:
        headers.append((b"sec-websocket-version", b"13"))
    return format_closing_header(status, headers, len(text)) + text


def reply_headers(headers: list[Header], body: bytes) -> dict[str, str] | None:
    """The headers as `reply()` takes them, or None when it would change the response."""
    wanted = framed(headers)
    fields = {name.decode(): value.decode("latin-1") for name, value in wanted}
    exact = (
        len(fields) == len(wanted)
        and "content-type" in fields
        and len(body) <= REPLY_MOST
        and b"\0" not in body
        and all(value.isascii() for _, value in wanted)
    )
    return fields if exact else None


def write_response(
    conn: Connection, state: _ConnState, status: int, headers: list[Header], body: bytes
) -> None:
    """A whole response; the poll thread's half of an `R` wakeup."""
    method = state.scope["method"]
    if not state.keep_alive:
        given = content_length(headers)
        length = len(body) if given is None and method != "HEAD" and status != 304 else given
        conn.send(format_closing_header(status, headers, length))
        if body and has_body(method, status):
            conn.send(body)
        return
    fields = reply_headers(headers, body)
    if fields is not None:
        conn.reply(status, body, fields)
        return
    conn.send(_format_chunked_header(status, headers, keep_alive=True))
    if body:
        conn.http_chunk(body)
    conn.http_chunk(b"")
