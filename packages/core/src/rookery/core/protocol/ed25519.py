"""Signatures by Ed25519 (RFC 8032), so that a worker needs no library to verify the code that it
runs.

Verifying involves no secrets. The time of signing reveals information about the key, so a server
signs only once, at its start, its own wheel, and never on a client's request.
"""

import hashlib
from typing import NamedTuple

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, -1, PRIME) % PRIME
ROOT_OF_MINUS_ONE = pow(2, (PRIME - 1) // 4, PRIME)
KEY_BYTES, SIGNATURE_BYTES = 32, 64
FINGERPRINT_DIGITS = 32


class Point(NamedTuple):
    """A point in extended coordinates: x = X/Z, y = Y/Z, x*y = T/Z."""

    x: int
    y: int
    z: int
    t: int


ZERO = Point(0, 1, 1, 0)


def public_key(seed: bytes) -> bytes:
    """Return the public key of 32 secret bytes."""
    secret, _ = _expand_seed(seed)
    return _pack(_multiply(secret, BASE))


def sign(seed: bytes, message: bytes) -> bytes:
    secret, prefix = _expand_seed(seed)
    key = _pack(_multiply(secret, BASE))
    once = _hash_to_number(prefix, message) % ORDER
    commitment = _pack(_multiply(once, BASE))
    challenge = _hash_to_number(commitment, key, message) % ORDER
    answer = (once + challenge * secret) % ORDER
    return commitment + answer.to_bytes(32, "little")


def is_signed(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the owner of that key signed the message."""
    if len(key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    owner, commitment = _unpack(key), _unpack(signature[:32])
    answer = int.from_bytes(signature[32:], "little")
    if owner is None or commitment is None or answer >= ORDER:
        return False
    challenge = _hash_to_number(signature[:32], key, message) % ORDER
    return _are_equal(_multiply(answer, BASE), _add(commitment, _multiply(challenge, owner)))


def fingerprint(key: bytes) -> str:
    """Return a short hash of a public key, for people to compare."""
    return hashlib.sha256(key).hexdigest()[:FINGERPRINT_DIGITS]


def _expand_seed(seed: bytes) -> tuple[int, bytes]:
    digest = hashlib.sha512(seed).digest()
    number = int.from_bytes(digest[:32], "little")
    # As the standard demands: a multiple of eight, of a fixed length.
    return number & ((1 << 254) - 8) | (1 << 254), digest[32:]


def _hash_to_number(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


def _add(one: Point, other: Point) -> Point:
    a = (one.y - one.x) * (other.y - other.x) % PRIME
    b = (one.y + one.x) * (other.y + other.x) % PRIME
    c = 2 * one.t * other.t * CURVE % PRIME
    d = 2 * one.z * other.z % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return Point(e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME)


def _multiply(number: int, point: Point) -> Point:
    found = ZERO
    while number:
        if number & 1:
            found = _add(found, point)
        point = _add(point, point)
        number >>= 1
    return found


def _are_equal(one: Point, other: Point) -> bool:
    same_x = (one.x * other.z - other.x * one.z) % PRIME == 0
    return same_x and (one.y * other.z - other.y * one.z) % PRIME == 0


def _pack(point: Point) -> bytes:
    inverse = pow(point.z, -1, PRIME)
    x, y = point.x * inverse % PRIME, point.y * inverse % PRIME
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _unpack(packed: bytes) -> Point | None:
    whole = int.from_bytes(packed, "little")
    y, odd = whole & ((1 << 255) - 1), whole >> 255
    x = _find_x(y, odd) if y < PRIME else None
    return None if x is None else Point(x, y, 1, x * y % PRIME)


def _find_x(y: int, odd: int) -> int | None:
    """Return the x with that parity for which (x, y) is on the curve; None if there is none."""
    square = (y * y - 1) * pow(CURVE * y * y + 1, -1, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME:
        x = x * ROOT_OF_MINUS_ONE % PRIME
    if (x * x - square) % PRIME or (x == 0 and odd):
        return None
    return x if x & 1 == odd else PRIME - x


def _make_base() -> Point:
    y = 4 * pow(5, -1, PRIME) % PRIME
    x = _find_x(y, 0)
    assert x is not None
    return Point(x, y, 1, x * y % PRIME)


BASE = _make_base()
