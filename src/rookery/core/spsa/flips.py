"""The directions of a perturbation: +1 or -1 per parameter, packed to bits and signed.

The most significant bit of the first byte is the first parameter; 1 stands for +1; the last byte
is filled up with zeros. The signature is the unsigned CRC-32 of the packed bytes.
"""

import zlib
from collections.abc import Iterable, Sequence

from rookery.core.spsa.faults import WrongDrawSize


def packed_size(count: int) -> int:
    """How many bytes the flips of that many parameters take."""
    return (count + 7) // 8


def pack(flips: Sequence[int]) -> bytes:
    """Flips as bits."""
    bits = 0
    for flip in flips:
        bits = bits << 1 | (flip > 0)
    size = packed_size(len(flips))
    return (bits << (8 * size - len(flips))).to_bytes(size, "big")


def unpack(packed: bytes, count: int) -> tuple[int, ...]:
    """The flips of `count` parameters; random bytes serve as a draw."""
    if len(packed) != packed_size(count):
        raise WrongDrawSize(found=len(packed), wanted=packed_size(count))
    bits = int.from_bytes(packed, "big") >> (8 * len(packed) - count)
    return tuple(1 if bits >> place & 1 else -1 for place in range(count - 1, -1, -1))


def signature(packed: bytes) -> int:
    """What a worker echoes to show which flips its games were played with."""
    return zlib.crc32(packed)


def joint_signature(parts: Iterable[bytes]) -> int:
    """The signature of several perturbations handed out together."""
    return zlib.crc32(b"".join(parts))
