"""WebSocket frames as the C core splits and writes them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery_asgi import _core

MASK = b"\x01\x02\x03\x04"


def masked(first: int, payload: bytes, mask: bytes = MASK) -> bytes:
    head = bytearray(_core.frame(first, len(payload)))
    head[1] |= 0x80
    return bytes(head) + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


def split(data: bytes, step: int, most: int = 1 << 20) -> list[tuple[int, bytes]]:
    frames: list[tuple[int, bytes]] = []
    splitter = _core.Frames(most)
    for at in range(0, len(data), step):
        splitter.feed(data[at : at + step], frames)
    return frames


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 125, 126, 127, 65535, 65536, 70001])
def test_a_frame_of_any_length_comes_back(size: int) -> None:
    payload = bytes(i & 255 for i in range(size))
    data = masked(0x82, payload)
    assert split(data, len(data)) == [(0x82, payload)]
    assert split(data, 1021) == [(0x82, payload)]


@given(
    st.lists(st.binary(max_size=200), max_size=5),
    st.integers(1, 50),
    st.binary(min_size=4, max_size=4),
)
@settings(max_examples=200, deadline=None)
def test_frames_in_any_pieces_come_back(payloads: list[bytes], step: int, mask: bytes) -> None:
    data = b"".join(masked(0x82, payload, mask) for payload in payloads)
    assert split(data, step) == [(0x82, payload) for payload in payloads]


@pytest.mark.parametrize(
    "data",
    [
        b"\x82\x01a",  # not masked
        b"\x83\x80" + MASK,  # unknown opcode
        b"\x8b\x80" + MASK,  # unknown control opcode
        b"\xa2\x80" + MASK,  # second reserved bit
        b"\x92\x80" + MASK,  # third reserved bit
        b"\x09\x80" + MASK,  # a fragmented ping
        b"\xc9\x80" + MASK,  # a compressed ping
        b"\x89\xfe\x00\x7e" + MASK,  # a ping that is too long
        b"\x82\xfe\x00\x7d" + MASK,  # a length that is not in its shortest form
        b"\x82\xff" + b"\0" * 6 + b"\xff\xff" + MASK,
        b"\x82\xff\x80" + b"\0" * 7 + MASK,  # a length of 2^63
    ],
)
def test_malformed_frames_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="malformed"):
        split(data, len(data))
    with pytest.raises(ValueError, match="malformed"):
        split(data, 1)


def test_a_frame_that_is_too_large_is_refused_by_its_header() -> None:
    with pytest.raises(OverflowError):
        split(b"\x82\xfe\x04\x00" + MASK, 8, most=1000)


def test_frames_before_a_malformed_one_are_delivered() -> None:
    frames: list[tuple[int, bytes]] = []
    with pytest.raises(ValueError, match="malformed"):
        _core.Frames(100).feed(masked(0x81, b"good") + b"\xff", frames)
    assert frames == [(0x81, b"good")]


def test_there_is_no_way_back_after_a_malformed_frame() -> None:
    splitter = _core.Frames(100)
    for _ in range(60):
        with pytest.raises(ValueError, match="malformed"):
            splitter.feed(b"\xff", [])
    with pytest.raises(ValueError, match="malformed"):
        splitter.feed(masked(0x81, b"good"), [])
