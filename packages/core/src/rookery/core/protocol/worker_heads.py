"""Reading a large body of a worker while it arrives: its credentials and its one long text.

The server reads no large body before it has checked the credentials, which official workers send at
the beginning. The head is scanned once with a limited number of steps; the long text after it
(games in base64) is decoded as it arrives, so that only a piece of it is in memory.
"""

import binascii
import re
from dataclasses import dataclass, field

from rookery.core.protocol.codec import (
    ORDINARY_BYTES,
    BadField,
    NotAnObject,
    NotJson,
    TooLarge,
    WireFault,
)
from rookery.core.protocol.worker_requests import CREDENTIALS, Credentials

HEAD_BYTES = ORDINARY_BYTES
"""The bytes of a body that are read before the credentials are checked."""
MOST_KEYS = 64
MOST_MARKS = 4096
_SHOWN = 12
"""The number of first characters of the text that remain in the envelope, enough to check its
kind."""

_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SCALAR = re.compile(rb'[^\s,:"\[\]{}]++')
_MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{}]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Head:
    """The complete values in the head by key, and the key of the one that continues after it."""

    values: dict[str, bytes]
    unfinished: str = ""
    text_at: int = -1
    """The place where the unfinished value begins, if it is a text; else -1."""

    def read_credentials(self) -> Credentials:
        """Return the credentials; raise a WireFault where they are missing or not well-formed."""
        password, info = self.values.get("password"), self.values.get("worker_info")
        if password is None or info is None:
            raise WireFault(
                "password and worker_info must come within the first 65,536 bytes of a body"
                " that is longer"
            )
        return CREDENTIALS.read(b'{"password":%b,"worker_info":%b}' % (password, info))


def scan_head(head: bytes) -> Head:
    """Read the keys and values in the beginning of a JSON object."""
    place = _skip_space(head, 0)
    if head[place : place + 1] != b"{":
        raise NotAnObject
    values: dict[str, bytes] = {}
    for _ in range(MOST_KEYS):
        key = _STRING.match(head, _skip_space(head, place + 1))
        if key is None:
            break
        colon = _skip_space(head, key.end())
        if colon < len(head) and head[colon : colon + 1] != b":":
            raise NotJson(text="a key without a value")
        start = _skip_space(head, colon + 1)
        name, end = key[0][1:-1].decode("utf-8", "replace"), _end_of_value(head, start)
        if end is None:
            is_text = head[start : start + 1] == b'"'
            return Head(values, name, start + 1 if is_text else -1)
        values[name] = head[start:end]
        place = _skip_space(head, end)
        if head[place : place + 1] != b",":
            break
    return Head(values)


@dataclass(slots=True)
class LongText:
    """Decodes a long base64 text piece by piece; raises a WireFault.

    After the last piece, `envelope` has the body with only the first characters of the text.
    """

    key: str
    before: bytes
    """The body before the text, with the opening quote."""
    most_bytes: int
    size: int = 0
    _shown: bytes = b""
    _waiting: bytes = b""
    _is_padded: bool = False
    _after: bytearray | None = field(default=None)

    def feed(self, piece: bytes) -> bytes:
        if self._after is not None:
            self._add_rest(piece)
            return b""
        # A slash may be written with a backslash, and nothing else in base64 may.
        text = (self._waiting + piece).replace(b"\\/", b"/")
        text, quote, after = text.partition(b'"')
        # A backslash at the end belongs to a character of the next piece.
        whole = len(text) - (not quote and text.endswith(b"\\"))
        whole -= whole % 4
        if quote:
            if whole != len(text):
                raise self._make_fault()
            self._after = bytearray()
            self._add_rest(after)
        self._waiting = text[whole:]
        return self._decode(text[:whole])

    def envelope(self) -> bytes:
        """Return the body with only the first characters of the text."""
        if self._after is None:
            raise NotJson(text=f"{self.key} does not end")
        return self.before + self._shown + b'"' + bytes(self._after)

    def _decode(self, text: bytes) -> bytes:
        if not text:
            return b""
        if self._is_padded:
            raise self._make_fault()
        self._shown = self._shown or text[:_SHOWN]
        self._is_padded = text.endswith(b"=")
        try:
            found = binascii.a2b_base64(text, strict_mode=True)
        except binascii.Error:
            raise self._make_fault() from None
        self.size += len(found)
        if self.size > self.most_bytes:
            raise TooLarge(limit=self.most_bytes)
        return found

    def _add_rest(self, after: bytes) -> None:
        assert self._after is not None
        self._after += after
        if len(self._after) > HEAD_BYTES:
            raise TooLarge(limit=HEAD_BYTES)

    def _make_fault(self) -> WireFault:
        return BadField(field=self.key, text="invalid base64")


def begin_long_text(head: bytes, key: str, most_bytes: int) -> tuple[LongText, bytes]:
    """Return a decoder for the text of that key, and the part of the text that came with the
    head."""
    found = scan_head(head[:HEAD_BYTES])
    if found.unfinished != key or found.text_at < 0:
        raise BadField(field=key, text="does not begin within the first 65,536 bytes")
    return LongText(key, head[: found.text_at], most_bytes), head[found.text_at :]


def _skip_space(text: bytes, place: int) -> int:
    space = _SPACE.match(text, place)
    return place if space is None else space.end()


def _end_of_value(text: bytes, start: int) -> int | None:
    """Return the end of the value at `start`; None where it is not complete or has too many
    parts."""
    first = text[start : start + 1]
    if first == b'"':
        string = _STRING.match(text, start)
        return None if string is None else string.end()
    if first in {b"{", b"["}:
        return _end_of_nest(text, start)
    scalar = _SCALAR.match(text, start)
    return None if scalar is None or scalar.end() == len(text) else scalar.end()


def _end_of_nest(text: bytes, start: int) -> int | None:
    depth = 0
    for number, mark in enumerate(_MARK.finditer(text, start)):
        what = mark[0][:1]
        if number > MOST_MARKS or mark[0] == b'"':
            return None
        if what in b"{[":
            depth += 1
        elif what in b"}]":
            depth -= 1
            if not depth:
                return mark.end()
    return None
