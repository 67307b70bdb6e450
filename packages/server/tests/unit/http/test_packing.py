"""Packed pieces are shared by streams that began at different times."""

import zlib

from rookery.server.http.packing import GZIP, GZIP_HEAD, pack_piece

PART = b"event: part\ndata: a\n\n" * 50


def unpack(stream: bytes) -> bytes:
    return zlib.decompressobj(GZIP).decompress(stream)


def test_a_stream_of_pieces_is_gzip_and_each_is_whole_as_it_comes() -> None:
    retry, part, comment = (pack_piece(text) for text in (b"retry: 1\n\n", PART, b":\n\n"))
    assert unpack(GZIP_HEAD + retry + part) == b"retry: 1\n\n" + PART
    assert unpack(GZIP_HEAD + comment + part) == b":\n\n" + PART
