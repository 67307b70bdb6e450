"""Turns received bytes into typed values or a named fault, and nothing else.

PostgreSQL's text can hold neither NUL nor lone surrogates, so both are replaced by U+FFFD before
a body is decoded: an engine's garbled last words are still worth storing, and no string further
in needs a second look.
"""

import re
from typing import Generic, TypeVar

import msgspec

from rookery.protocol.faults import (
    BadBody,
    BadField,
    MissingField,
    NotAnObject,
    NotJson,
    TooDeep,
    TooLarge,
    WireFault,
)

T_co = TypeVar("T_co", covariant=True)

ORDINARY_BYTES = 64 * 1024
"""A body without games or logs is a few kilobytes."""

_HIGH = rb"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_UNSTORABLE = re.compile(rb"\\u0000|%b(?!%b)|(?<!%b)%b" % (_HIGH, _LOW, _HIGH, _LOW))
_PLACE = " - at `$"
_MISSING = "Object missing required field `"
LONGEST_TEXT = 200


class Reader(Generic[T_co]):
    """Decodes one kind of body; made once, at import."""

    __slots__ = ("_decoder", "_most_bytes")

    def __init__(self, kind: type[T_co], *, most_bytes: int = ORDINARY_BYTES) -> None:
        self._decoder = msgspec.json.Decoder(kind)
        self._most_bytes = most_bytes

    @property
    def most_bytes(self) -> int:
        return self._most_bytes

    def read(self, body: bytes) -> T_co:
        """The typed value; raises WireFault."""
        if len(body) > self._most_bytes:
            raise TooLarge(limit=self._most_bytes)
        # One byte is quick to look for, and almost no body holds it.
        if b"\\" in body and b"\\u" in body:
            body = _storable(body)
        try:
            return self._decoder.decode(body)
        except msgspec.ValidationError as error:
            raise _field_fault(str(error)) from None
        except RecursionError:
            raise TooDeep from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise NotJson(text=str(error)) from None


def _storable(body: bytes) -> bytes:
    # A backslash spelt by its number leaves each remaining one at the head of an escape.
    return _UNSTORABLE.sub(rb"\\ufffd", body.replace(rb"\\", rb"\u005c"))


def _field_fault(error: str) -> WireFault:
    head, found, tail = error.rpartition(_PLACE)
    text, place = (head, tail.strip(".`")) if found else (error, "")
    if text.startswith(_MISSING):
        field = text.removeprefix(_MISSING).rstrip("`")
        return MissingField(field=f"{place}.{field}".lstrip("."))
    if not place:
        return NotAnObject() if text.startswith("Expected `object`") else BadBody(text=text)
    return BadField(field=place, text=_plain(text))


def _plain(text: str) -> str:
    text = text[:LONGEST_TEXT].replace("`", "")
    return text[:1].lower() + text[1:]
