"""The decoder of chunked bodies: the same outcome whole and byte by byte."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery_asgi import _core


def decode(data: bytes) -> tuple[bytes, str]:
    body, outcome = _core.decode_chunked([data])
    pieces = [data[i : i + 1] for i in range(len(data))]
    assert _core.decode_chunked(pieces) == (body, outcome)
    return bytes(body), outcome


def test_a_body_is_put_together() -> None:
    assert decode(b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n") == (b"hello world", "end")


@pytest.mark.parametrize(
    "data",
    [
        b"5;a=b\r\nhello\r\n0\r\n\r\n",
        b'5;a="b;c"\r\nhello\r\n0;x\r\n\r\n',
        b"005\r\nhello\r\n000\r\n\r\n",
        b"5\r\nhello\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\n",
    ],
)
def test_extensions_zeros_and_trailers_are_read_over(data: bytes) -> None:
    assert decode(data) == (b"hello", "end")


def test_sizes_are_hexadecimal_in_either_case() -> None:
    assert decode(b"A\r\n0123456789\r\nb\r\n0123456789a\r\n0\r\n\r\n") == (
        b"01234567890123456789a",
        "end",
    )


@pytest.mark.parametrize("cut", range(1, 26))
def test_a_body_that_is_cut_off_is_never_complete(cut: int) -> None:
    data = b"5\r\nhello\r\n0\r\nX: 1\r\n\r\n"
    assert decode(data[: max(0, len(data) - cut)])[1] == "more"


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n",
        b"g\r\n",
        b"-1\r\n",
        b"+5\r\nhello\r\n",
        b"0x5\r\nhello\r\n",
        b" 5\r\nhello\r\n",
        b"5 \r\nhello\r\n",
        b"5\nhello\r\n0\r\n\r\n",
        b"5\r\nhello\n0\r\n\r\n",
        b"5\r\nhello0\r\n\r\n",
        b"5\r\nhelloX\r\n",
        b"5\r\nhello\rX",
        b"5;a\nb\r\nhello\r\n",
        b"5;a\rb\r\nhello\r\n",
        b"5;\0\r\nhello\r\n",
        b"1234567890abcdef\r\n",
        b"0\r\n\n",
        b"0\r\nbad trailer\r\n\r\n",
        b"0\r\n folded: 1\r\n\r\n",
        b"0\r\nX: \0\r\n\r\n",
        b"0\r\n\rX",
        b"5;" + b"x" * 20000,
        b"0\r\n" + b"a: b\r\n" * 5000,
    ],
)
def test_malformed_framing_is_refused(data: bytes) -> None:
    assert decode(data)[1] == "bad"


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=8), st.integers(1, 9))
@settings(max_examples=200, deadline=None)
def test_any_chunks_in_any_pieces_give_the_body(chunks: list[bytes], step: int) -> None:
    data = b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in chunks) + b"0\r\n\r\n"
    pieces = [data[i : i + step] for i in range(0, len(data), step)]
    assert _core.decode_chunked(pieces) == (bytearray(b"".join(chunks)), "end")
