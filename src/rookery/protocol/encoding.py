"""Turns typed values into JSON that holds no null: optional fields are left out, not nulled.

A worker asks only whether a key is there, so `"error": null` would be an error to it.
"""

import math

import msgspec

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
