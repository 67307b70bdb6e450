"""What can be wrong with something received; each class's docstring is its message."""

import math
import re
from datetime import UTC, datetime
from typing import Generic, NoReturn, TypeVar

import msgspec

from rookery.errors import Fault


class WireFault(Fault):
    """the message cannot be used"""

    def at(self, path: str) -> str:
        """The fault in the form that answers carry: the endpoint's path, then the text."""
        return f"{path}: {self}"


class TooLarge(WireFault):
    """the body is longer than {limit} bytes"""


class TooDeep(WireFault):
    """the body is nested too deeply"""


class NotJson(WireFault):
    """the body is not JSON ({text})"""


class NotAnObject(WireFault):
    """the body is not a JSON object"""


class BadBody(WireFault):
    """{text}"""


class MissingField(WireFault):
    """{field}: is missing"""


class BadField(WireFault):
    """{field}: {text}"""


def refuse(field: str, text: str) -> NoReturn:
    raise BadField(field=field, text=text)


def require(granted: bool, field: str, text: str) -> None:
    if not granted:
        refuse(field, text)


class BadParameter(WireFault):
    """{name}: {text}"""


class BadName(WireFault):
    """{name!r} is not of the form {form}"""


class BadFilter(WireFault):
    """the filter cannot be used: {text}"""


# Dates as documents carry them: `2026-08-22 08:16:56.123000+00:00`.


def rendered(moment: datetime) -> str:
    """The moment in UTC, always with its fraction, so that texts sort as moments do."""
    return moment.astimezone(UTC).isoformat(sep=" ", timespec="microseconds")


# Turns received bytes into typed values or a named fault, and nothing else.
#
# PostgreSQL's text can hold neither NUL nor lone surrogates, so both are replaced by U+FFFD before
# a body is decoded: an engine's garbled last words are still worth storing, and no string further
# in needs a second look.

T = TypeVar("T")
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


# Turns typed values into JSON that holds no null: optional fields are left out, not nulled.
#
# A worker asks only whether a key is there, so `"error": null` would be an error to it.

LARGEST = 1.7976931348623157e308
_ENCODER = msgspec.json.Encoder()


def encode(value: object) -> bytes:
    """Compact JSON; numbers that JSON lacks become the nearest it has."""
    try:
        body = _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(_cleaned(msgspec.to_builtins(value)))
    # NaN and the infinities come out as null; so does nothing else of ours.
    if b"null" in body:
        return _ENCODER.encode(_cleaned(msgspec.to_builtins(value)))
    return body


def encode_timed(answer: msgspec.Struct, *, seconds: float) -> bytes:
    """An answer to a worker, with the `duration` that every one of them must carry."""
    body = encode(answer)
    comma = b"," if len(body) > 2 else b""
    return b'%b%b"duration":%.6f}' % (body[:-1], comma, max(finite(seconds), 0.0))


def finite(number: float) -> float:
    """The nearest number that JSON can carry; none is nearest to NaN, so it becomes zero."""
    if math.isnan(number):
        return 0.0
    return min(max(number, -LARGEST), LARGEST)


def or_none(value: T | msgspec.UnsetType) -> T | None:
    """None for a field that was left out."""
    return None if value is msgspec.UNSET else value


def _cleaned(value: object) -> object:
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(part) for key, part in value.items() if part is not None}
    if isinstance(value, list | tuple):
        return [_cleaned(part) for part in value if part is not None]
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value
