"""Decoding received JSON into typed values, the faults of what was received, and encoding answers.
The docstring of a fault is its message.
"""

import math
import re
from datetime import UTC, datetime
from typing import Generic, NoReturn, TypeVar

import msgspec

from rookery.core.errors import BadInput, Fault


class WireFault(BadInput, Fault):
    """the message cannot be used"""

    def at(self, path: str) -> str:
        """Return the message of an answer: the endpoint's path, then the text of the fault."""
        return f"{path}: {self}"


class TooLarge(WireFault):
    """the body is longer than {limit} bytes"""


class TooDeep(WireFault):
    """the body is nested too deeply"""


class NotJson(WireFault):
    """the body is not JSON ({text})"""


class NotAnObject(WireFault):
    """the body is not a JSON object"""


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
    """expected {form}, not {name!r}"""


class BadFilter(WireFault):
    """the filter cannot be used: {text}"""


# Dates in documents: `2026-08-22 08:16:56.123000+00:00`.


def format_time(moment: datetime) -> str:
    """Return the time in UTC with microseconds, so that texts sort by time."""
    return moment.astimezone(UTC).isoformat(sep=" ", timespec="microseconds")


# Decoding.
#
# PostgreSQL's text can contain neither NUL nor lone surrogates, so both are replaced by U+FFFD
# before a body is decoded. Then garbled output of an engine can be stored, and no later check is
# needed.

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

ORDINARY_BYTES = 64 * 1024
"""The limit of a body without games or logs, which usually has a few kilobytes."""

_HIGH = rb"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_UNSTORABLE = re.compile(rb"\\u0000|%b(?!%b)|(?<!%b)%b" % (_HIGH, _LOW, _HIGH, _LOW))
_PLACE = " - at `$"
_MISSING = "Object missing required field `"
LONGEST_TEXT = 200


class Reader(Generic[T_co]):
    """Decodes one kind of body; created once, at import."""

    __slots__ = ("_decoder", "_most_bytes")

    def __init__(self, kind: type[T_co], *, most_bytes: int = ORDINARY_BYTES) -> None:
        self._decoder = msgspec.json.Decoder(kind)
        self._most_bytes = most_bytes

    @property
    def most_bytes(self) -> int:
        return self._most_bytes

    def read(self, body: bytes) -> T_co:
        """Return the typed value; raise WireFault."""
        if len(body) > self._most_bytes:
            raise TooLarge(limit=self._most_bytes)
        # Searching for one byte is quick, and almost no body contains it.
        if b"\\" in body and b"\\u" in body:
            body = _replace_unstorable(body)
        try:
            return self._decoder.decode(body)
        except msgspec.ValidationError as error:
            raise _make_field_fault(str(error)) from None
        except RecursionError:
            raise TooDeep from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise NotJson(text=str(error)) from None


def read_value(kind: type[T], value: object, field: str) -> T:
    """Return the typed value of one field that did not come as JSON; raise WireFault."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text, _, inner = str(error).partition(_PLACE)
        raise _make_field_fault(f"{text}{_PLACE}.{field}{inner}") from None


def _replace_unstorable(body: bytes) -> bytes:
    # With escaped backslashes written as \u005c, each remaining backslash begins an escape.
    return _UNSTORABLE.sub(rb"\\ufffd", body.replace(rb"\\", rb"\u005c"))


def _make_field_fault(error: str) -> WireFault:
    head, found, tail = error.rpartition(_PLACE)
    text, place = (head, tail.strip(".`")) if found else (error, "")
    if text.startswith(_MISSING):
        field = text.removeprefix(_MISSING).rstrip("`")
        return BadField(field=f"{place}.{field}".lstrip("."), text="is missing")
    if not place:
        return NotAnObject() if text.startswith("Expected `object`") else WireFault(text)
    return BadField(field=place, text=_simplify(text))


def _simplify(text: str) -> str:
    text = text[:LONGEST_TEXT].replace("`", "")
    return text[:1].lower() + text[1:]


# Encoding without null: optional fields are left out.
#
# A worker only checks whether a key exists, so it would take `"error": null` for an error.

LARGEST = 1.7976931348623157e308
_ENCODER = msgspec.json.Encoder()


def encode(value: object) -> bytes:
    """Compact JSON; infinite numbers become the largest finite ones, NaN becomes zero."""
    try:
        body = _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(_clean(msgspec.to_builtins(value)))
    # msgspec writes NaN and the infinities as null; nothing else of ours becomes null.
    if b"null" in body:
        return _ENCODER.encode(_clean(msgspec.to_builtins(value)))
    return body


def encode_timed(answer: msgspec.Struct, *, seconds: float) -> bytes:
    """Return an answer to a worker, with the `duration` that the protocol demands."""
    body = encode(answer)
    comma = b"," if len(body) > 2 else b""
    return b'%b%b"duration":%.6f}' % (body[:-1], comma, max(to_finite(seconds), 0.0))


def to_finite(number: float) -> float:
    """Return the nearest number that JSON can represent; zero for NaN."""
    if math.isnan(number):
        return 0.0
    return min(max(number, -LARGEST), LARGEST)


def or_none(value: T | msgspec.UnsetType) -> T | None:
    """Return the value, or None for a field that was left out."""
    return None if value is msgspec.UNSET else value


def _clean(value: object) -> object:
    if isinstance(value, dict):
        return {_clean(key): _clean(part) for key, part in value.items() if part is not None}
    if isinstance(value, list | tuple):
        return [_clean(part) for part in value if part is not None]
    if isinstance(value, float):
        return to_finite(value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value
