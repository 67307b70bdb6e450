"""The opening handshake (RFC 6455, section 4): what a client asks for, and the answer."""

import base64
import binascii
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from rookery_asgi.types import Header

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
OWN_HEADERS = frozenset(
    {b"connection", b"upgrade", b"sec-websocket-accept", b"sec-websocket-extensions"}
)
FORBIDDEN = frozenset(b"\r\n\0")


@dataclass(frozen=True, slots=True)
class Offer:
    """A sound handshake."""

    key: bytes
    subprotocols: tuple[str, ...]
    extensions: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A handshake that can't be accepted."""

    status: int
    headers: tuple[Header, ...] = ()


def read_offer(headers: Iterable[Header]) -> Offer | Refusal:
    """Check a handshake's headers."""
    found: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        if name.startswith(b"sec-websocket-"):
            found.setdefault(name, []).append(value)
    if found.get(b"sec-websocket-version") != [b"13"]:
        return Refusal(426, ((b"sec-websocket-version", b"13"),))
    keys = found.get(b"sec-websocket-key", [])
    if len(keys) != 1 or not is_key(keys[0]):
        return Refusal(400)
    protocols = b",".join(found.get(b"sec-websocket-protocol", [])).decode("latin-1")
    return Offer(
        keys[0],
        tuple(part.strip() for part in protocols.split(",") if part.strip()),
        b",".join(found.get(b"sec-websocket-extensions", [])).decode("latin-1"),
    )


def is_key(value: bytes) -> bool:
    """A key is sixteen bytes in base64."""
    try:
        return len(base64.b64decode(value, validate=True)) == 16
    except binascii.Error:
        return False


def accept_value(key: bytes) -> bytes:
    """What proves to the client that its handshake was understood."""
    return base64.b64encode(hashlib.sha1(key + MAGIC, usedforsecurity=False).digest())


def check_header(name: bytes, value: bytes) -> None:
    """An application must not be able to split the response."""
    if not name or FORBIDDEN.intersection(name + value) or b":" in name or b" " in name:
        raise RuntimeError("a response header has a character that headers can't have")


def phrase(status: int) -> str:
    """The status in words; only the core knows them, and the adapter does without it."""
    from rookery_asgi import _core

    return _core.phrase(status)


def render(status: int, headers: Iterable[Header], own: Iterable[Header], body: bytes) -> bytes:
    """An HTTP response; `own` are the server's fields, where the application has not set them."""
    lines = [b"HTTP/1.1 %d %s" % (status, phrase(status).encode())]
    given = list(headers)
    names = {name.lower() for name, _ in given}
    for name, value in (*given, *(field for field in own if field[0] not in names)):
        check_header(name, value)
        lines.append(name + b": " + value)
    return b"\r\n".join([*lines, b"", body])


def render_accept(
    offer: Offer,
    subprotocol: str | None,
    extension: str | None,
    extra: Iterable[Header],
    own: Iterable[Header] = (),
) -> bytes:
    """The 101 that opens the WebSocket."""
    headers: list[Header] = [
        (b"upgrade", b"websocket"),
        (b"connection", b"Upgrade"),
        (b"sec-websocket-accept", accept_value(offer.key)),
    ]
    if subprotocol is not None:
        headers.append((b"sec-websocket-protocol", subprotocol.encode("latin-1")))
    if extension is not None:
        headers.append((b"sec-websocket-extensions", extension.encode()))
    headers += [(name, value) for name, value in extra if name.lower() not in OWN_HEADERS]
    return render(101, headers, own, b"")


def render_refusal(
    status: int, headers: Iterable[Header], body: bytes | None, own: Iterable[Header] = ()
) -> bytes:
    """A whole response instead of the handshake, after which the connection ends."""
    text = body if body is not None else (phrase(status) + "\n").encode()
    given: list[Header] = [
        (name, value) for name, value in headers if name.lower() != b"connection"
    ]
    if not any(name.lower() == b"content-length" for name, _ in given):
        given.append((b"content-length", b"%d" % len(text)))
    return render(status, [*given, (b"connection", b"close")], own, text)
