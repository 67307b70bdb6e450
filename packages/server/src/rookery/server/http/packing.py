"""Compression of whole bodies, and of stream pieces that are sent to many readers."""

import zlib

LEVEL = 4
GZIP = 31
"""zlib's window size for the gzip format with the largest window."""
RAW = -15
GZIP_HEAD = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
"""The header of a gzip stream without name and time, for any system."""


def takes_gzip(accept_encoding: str) -> bool:
    """Whether a client accepts gzip."""
    for part in accept_encoding.split(","):
        name, _, weight = part.partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return weight.replace(" ", "").rstrip("0.") != "q="
    return False


def pack(body: bytes) -> bytes:
    """Compress a body. Call it in a thread if the body is large."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
    return packer.compress(body) + packer.flush()


def pack_piece(data: bytes) -> bytes:
    """Compress a piece of a stream that begins with GZIP_HEAD. A piece does not refer to earlier
    ones, so it can be sent in many streams, whatever was sent in them before."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, RAW)
    return packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)
