"""The head of a large body: who calls, and where its one long text begins.

Nobody takes a large body from a stranger, so the credentials must stand at its beginning, as every
official worker sends them. The head is looked through once, from left to right, in a number of
steps that has a limit; the long text that follows it (games in base64) is taken apart as it comes,
so that no more than a piece of it is ever in memory.
"""

import binascii
import re
from dataclasses import dataclass, field

from rookery.protocol.codec import (
    ORDINARY_BYTES,
    BadField,
    NotAnObject,
    NotJson,
    TooLarge,
    WireFault,
)
from rookery.protocol.worker_requests import CREDENTIALS, Credentials

HEAD_BYTES = ORDINARY_BYTES
"""What is read of a body before its sender is known."""
MOST_KEYS = 64
MOST_MARKS = 4096
_SHOWN = 12
"""Of a long text so many characters stay in the rest of the body: they show what kind it is."""

_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SCALAR = re.compile(rb'[^\s,:"\[\]{}]++')
_MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{}]', re.DOTALL)


class CredentialsLate(WireFault):
    """password and worker_info must come within the first 65,536 bytes of a body that is longer"""


@dataclass(frozen=True, slots=True)
class Head:
    """What can be read in the head: whole values by key, and the key of one that goes on."""

    values: dict[str, bytes]
    unfinished: str = ""
    text_at: int = -1
    """Where the characters of the unfinished value begin, if it is a text."""

    def credentials(self) -> Credentials:
        """Raises a WireFault where they are not there or not of their form."""
        password, info = self.values.get("password"), self.values.get("worker_info")
        if password is None or info is None:
            raise CredentialsLate
        return CREDENTIALS.read(b'{"password":%b,"worker_info":%b}' % (password, info))


def scan(head: bytes) -> Head:
    """Reads the keys of an object of which only the beginning is there."""
    place = _skip(head, 0)
    if head[place : place + 1] != b"{":
        raise NotAnObject
    values: dict[str, bytes] = {}
    for _ in range(MOST_KEYS):
        key = _STRING.match(head, _skip(head, place + 1))
        if key is None:
            break
        colon = _skip(head, key.end())
        if colon < len(head) and head[colon : colon + 1] != b":":
            raise NotJson(text="a key without a value")
        start = _skip(head, colon + 1)
        name, end = key[0][1:-1].decode("utf-8", "replace"), _end_of_value(head, start)
        if end is None:
            is_text = head[start : start + 1] == b'"'
            return Head(values, name, start + 1 if is_text else -1)
        values[name] = head[start:end]
        place = _skip(head, end)
        if head[place : place + 1] != b",":
            break
    return Head(values)


@dataclass(slots=True)
class LongText:
    """Fed with what follows the head; gives the bytes that a text in base64 stands for.

    The rest of the body, with the first characters of the text in its place, is in `envelope` once
    all has come. Raises a WireFault.
    """

    key: str
    before: bytes
    """What comes before the text, with its opening quote."""
    most_bytes: int
    size: int = 0
    _shown: bytes = b""
    _waiting: bytes = b""
    _is_padded: bool = False
    _after: bytearray | None = field(default=None)

    def feed(self, piece: bytes) -> bytes:
        if self._after is not None:
            self._keep(piece)
            return b""
        # A slash may be written with a backslash, and nothing else in base64 may.
        text = (self._waiting + piece).replace(b"\\/", b"/")
        text, quote, after = text.partition(b'"')
        # What a backslash at the end belongs to has not come yet.
        whole = len(text) - (not quote and text.endswith(b"\\"))
        whole -= whole % 4
        if quote:
            if whole != len(text):
                raise self._wrong()
            self._after = bytearray()
            self._keep(after)
        self._waiting = text[whole:]
        return self._decoded(text[:whole])

    def envelope(self) -> bytes:
        """The body without all but the first characters of the text."""
        if self._after is None:
            raise NotJson(text=f"{self.key} does not end")
        return self.before + self._shown + b'"' + bytes(self._after)

    def _decoded(self, text: bytes) -> bytes:
        if not text:
            return b""
        if self._is_padded:
            raise self._wrong()
        self._shown = self._shown or text[:_SHOWN]
        self._is_padded = text.endswith(b"=")
        try:
            found = binascii.a2b_base64(text, strict_mode=True)
        except binascii.Error:
            raise self._wrong() from None
        self.size += len(found)
        if self.size > self.most_bytes:
            raise TooLarge(limit=self.most_bytes)
        return found

    def _keep(self, after: bytes) -> None:
        assert self._after is not None
        self._after += after
        if len(self._after) > HEAD_BYTES:
            raise TooLarge(limit=HEAD_BYTES)

    def _wrong(self) -> WireFault:
        return BadField(field=self.key, text="invalid base64")


def long_text(head: bytes, key: str, most_bytes: int) -> tuple[LongText, bytes]:
    """The text of that key, and what of it has come with the head already."""
    found = scan(head[:HEAD_BYTES])
    if found.unfinished != key or found.text_at < 0:
        raise BadField(field=key, text="does not begin within the first 65,536 bytes")
    return LongText(key, head[: found.text_at], most_bytes), head[found.text_at :]


def _skip(text: bytes, place: int) -> int:
    space = _SPACE.match(text, place)
    return place if space is None else space.end()


def _end_of_value(text: bytes, start: int) -> int | None:
    """None where it is not whole, or has too many parts for anything that comes in a head."""
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
