"""What bodies are packed by: whole ones, and pieces of streams that many are sent."""

import zlib

LEVEL = 4
GZIP = 31
"""zlib's number for gzip with its largest window."""
RAW = -15
GZIP_HEAD = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
"""What a stream by gzip begins with: no name, no time, any system."""


def takes_gzip(accept_encoding: str) -> bool:
    """Whether a client said that it takes gzip."""
    for part in accept_encoding.split(","):
        name, _, weight = part.partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return weight.replace(" ", "").rstrip("0.") != "q="
    return False


def pack(body: bytes) -> bytes:
    """The body by gzip, for a thread where it is large."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
    return packer.compress(body) + packer.flush()


def pack_piece(data: bytes) -> bytes:
    """A piece of a stream that begins with GZIP_HEAD. Pieces refer to nothing before them, so that
    one may be sent to many streams, whatever each was sent before."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, RAW)
    return packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)
