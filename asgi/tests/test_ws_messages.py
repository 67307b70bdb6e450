"""WebSocket messages without sockets: frames in, events out."""

import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery_asgi.ws.deflate import Deflate, Terms, TooLarge, negotiate
from rookery_asgi.ws.messages import (
    Binary,
    Closing,
    Event,
    Fault,
    Ping,
    Pong,
    Reader,
    Text,
    is_close_code,
    write_close,
    write_message,
)
from tests.test_frames import masked


def read(
    data: bytes, *, step: int = 0, most: int = 1000, deflate: Deflate | None = None
) -> list[Event]:
    reader = Reader(most=most, deflate=deflate)
    size = step or max(1, len(data))
    events: list[Event] = []
    for at in range(0, len(data), size):
        events.extend(reader.feed(data[at : at + size]))
    return events


@pytest.mark.parametrize("step", [0, 1])
def test_messages_whole_and_fragmented(step: int) -> None:
    data = (
        masked(0x81, "é".encode())
        + masked(0x82, b"\0\1")
        + masked(0x01, b"a")
        + masked(0x89, b"ping")
        + masked(0x00, b"")
        + masked(0x80, b"b")
        + masked(0x8A, b"pong")
        + masked(0x88, b"\x03\xe8bye")
    )
    assert read(data, step=step) == [
        Text("é"),
        Binary(b"\0\1"),
        Ping(b"ping"),
        Text("ab"),
        Pong(b"pong"),
        Closing(1000, "bye"),
    ]


def test_a_character_may_be_split_between_fragments() -> None:
    letter = "é".encode()
    assert read(masked(0x01, letter[:1]) + masked(0x80, letter[1:])) == [Text("é")]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (masked(0x80, b"x"), 1002),
        (masked(0x01, b"x") + masked(0x81, b"y"), 1002),
        (masked(0xC1, b"x"), 1002),
        (masked(0x81, b"\xff"), 1007),
        (masked(0x81, b"\xed\xa0\x80"), 1007),
        (masked(0x88, b"\x03"), 1002),
        (masked(0x88, b"\x03\xed"), 1002),
        (masked(0x88, b"\x03\xe8\xff"), 1007),
        (masked(0x82, b"x" * 1001), 1009),
        (masked(0x02, b"x" * 600) + masked(0x80, b"x" * 600), 1009),
        (b"\xff", 1002),
    ],
)
def test_broken_rules_are_faults(data: bytes, code: int) -> None:
    (fault,) = read(data)
    assert isinstance(fault, Fault)
    assert fault.code == code


def test_messages_before_a_fault_count() -> None:
    assert read(masked(0x81, b"good") + b"\xff")[0] == Text("good")


GOOD_CODES = (1000, 1003, 1007, 1012, 1014, 3000, 4999)
BAD_CODES = (0, 999, 1004, 1005, 1006, 1015, 2999, 5000)


def test_close_codes() -> None:
    assert all(map(is_close_code, GOOD_CODES))
    assert not any(map(is_close_code, BAD_CODES))


def test_a_reason_is_cut_between_characters() -> None:
    frame = write_close(1000, "é" * 100)
    assert len(frame) == 2 + 2 + 122
    frame[4:].decode()


@pytest.mark.parametrize(
    ("offer", "header"),
    [
        ("", None),
        ("x-other", None),
        ("permessage-deflate", "permessage-deflate; {OWN}"),
        (
            "permessage-deflate; client_max_window_bits",
            "permessage-deflate; server_max_window_bits=12; client_max_window_bits=12",
        ),
        (
            "permessage-deflate; client_max_window_bits=10; server_max_window_bits=9",
            "permessage-deflate; server_max_window_bits=9; client_max_window_bits=10",
        ),
        (
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover; {OWN}",
        ),
        ("permessage-deflate; server_max_window_bits=8", None),
        ("permessage-deflate; server_max_window_bits=16", None),
        ("permessage-deflate; server_max_window_bits", None),
        ("permessage-deflate; client_no_context_takeover=1", None),
        ("permessage-deflate; unknown", None),
        (
            "permessage-deflate; unknown, permessage-deflate",
            "permessage-deflate; server_max_window_bits=12",
        ),
        (
            'permessage-deflate; server_max_window_bits="10"',
            "permessage-deflate; server_max_window_bits=10",
        ),
        ("permessage-deflate; server_max_window_bits=10; server_max_window_bits=10", None),
    ],
)
def test_compression_is_negotiated(offer: str, header: str | None) -> None:
    terms = negotiate(offer)
    wanted = header.replace("{OWN}", "server_max_window_bits=12") if header else None
    assert (terms.header() if terms else None) == wanted


@pytest.mark.parametrize("no_context", [False, True])
def test_compressed_messages_come_back(no_context: bool) -> None:
    terms = Terms(server_no_context=no_context, client_no_context=no_context, client_window=12)
    sender, receiver = Deflate(terms), Deflate(terms)
    for text in ("hello " * 50, "hello " * 50, "x" * 700):
        head, payload = write_message(1, text.encode(), sender)
        assert head[0] == 0xC1
        assert read(masked(head[0], payload), deflate=receiver) == [Text(text)]


def test_short_messages_are_not_compressed() -> None:
    assert write_message(1, b"hi", Deflate(Terms()))[1] == b"hi"


def test_a_decompression_bomb_is_stopped_early() -> None:
    bomb = zlib.compressobj(wbits=-15)
    packed = (bomb.compress(b"\0" * 50_000_000) + bomb.flush(zlib.Z_SYNC_FLUSH))[:-4]
    with pytest.raises(TooLarge):
        Deflate(Terms()).unpack(packed, 1000)
    assert [
        e.code
        for e in read(masked(0xC2, packed[:900]), deflate=Deflate(Terms()))
        if isinstance(e, Fault)
    ] == [1009]


def test_rubbish_instead_of_compressed_data_is_a_fault() -> None:
    (fault,) = read(masked(0xC1, b"\xff" * 20), deflate=Deflate(Terms()))
    assert isinstance(fault, Fault)
    assert fault.code == 1007


@given(st.binary(max_size=400), st.integers(1, 9))
@settings(max_examples=300, deadline=None)
def test_any_bytes_give_the_same_events_in_any_pieces(data: bytes, step: int) -> None:
    assert read(data)[:1] == read(data, step=step)[:1]
