"""Bodies of requests and streamed answers: pieces, time limits, places."""

import threading
from collections.abc import AsyncIterator
from contextlib import ExitStack

import anyio
import pytest
from starlette.types import Message, Receive

from rookery.core.boundary.errors import GateFull
from rookery.core.boundary.offload import Gate, Threads
from rookery.server.http.bodies import (
    LARGE,
    IncompleteFile,
    KeptBody,
    Places,
    StreamedAnswer,
    Streams,
    TooManyStreams,
    decode_body,
    read_body,
    read_pieces,
)
from rookery.server.http.faults import BodyTooSlow
from tests.eventually import eventually

pytestmark = pytest.mark.anyio


@pytest.mark.anyio
async def test_a_body_in_pieces_is_put_together() -> None:
    pieces: list[Message] = [
        {"type": "http.request", "body": b"ab", "more_body": True},
        {"type": "http.request", "body": b"c"},
    ]

    async def receive() -> Message:
        return pieces.pop(0)

    assert await read_body(receive) == b"abc"


async def test_a_body_that_was_read_in_part_can_be_read_from_its_beginning() -> None:
    pieces: list[Message] = [
        {"type": "http.request", "body": b"ab", "more_body": True},
        {"type": "http.request", "body": b"c"},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        return pieces.pop(0)

    kept = KeptBody(receive)
    assert (await kept.again()())["body"] == b"ab"
    assert await read_body(kept.again()) == b"abc"
    again = kept.again()
    assert await read_body(again) == b"abc"
    assert (await again())["type"] == "http.disconnect"


@pytest.mark.anyio
async def test_a_body_that_never_comes_is_not_waited_for() -> None:
    async def never() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    with pytest.raises(BodyTooSlow):
        await read_body(never, seconds=0.01)


def sender(pieces: int, pause: float = 0.0) -> Receive:
    """Sends single bytes, with a pause before each."""
    left = iter(range(pieces - 1, -1, -1))

    async def receive() -> Message:
        await anyio.sleep(pause)
        return {"type": "http.request", "body": b"x", "more_body": bool(next(left))}

    return receive


async def test_a_large_body_that_drips_in_is_given_up() -> None:
    with pytest.raises(BodyTooSlow):
        async for _ in read_pieces(sender(9, pause=0.001), patience=0.002, least_rate=1e6):
            pass


async def test_a_large_body_whose_reader_is_slow_is_read_to_its_end() -> None:
    pieces = 0
    async for _ in read_pieces(sender(9), patience=0.3, least_rate=1e6):
        await anyio.sleep(0.05)
        pieces += 1
    assert pieces == 9


@pytest.mark.anyio
@pytest.mark.parametrize(("size", "stays"), [(LARGE, True), (LARGE + 1, False)])
async def test_a_large_body_is_read_in_a_thread(size: int, stays: bool) -> None:
    read_in = await decode_body(bytes(size), lambda _body: threading.get_ident(), Threads())
    assert (read_in == threading.get_ident()) is stays


def test_no_address_takes_most_of_the_places() -> None:
    places = Places(Gate("events", 10))
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(places.enter("192.0.2.7"))
        with pytest.raises(TooManyStreams), places.enter("192.0.2.7"):
            pass
        with places.enter("192.0.2.8"):
            pass
    with places.enter("192.0.2.7"):
        pass


def test_a_household_is_one_address_in_ipv6() -> None:
    places = Places(Gate("events", 5))
    with (
        places.enter("2001:db8::7"),
        pytest.raises(TooManyStreams),
        places.enter("2001:db8::8"),
    ):
        pass
    with places.enter("2001:db8::7"), places.enter("2001:db8:0:1::7"):
        pass


def test_a_refused_address_holds_no_place() -> None:
    gate = Gate("events", 5)
    places = Places(gate)
    with places.enter("192.0.2.7"):
        for _ in range(10):
            with pytest.raises(TooManyStreams), places.enter("192.0.2.7"):
                pass
        assert gate.stats().inside == 1


def test_all_places_may_be_taken() -> None:
    places = Places(Gate("events", 1))
    with places.enter("192.0.2.7"), pytest.raises(GateFull), places.enter("192.0.2.8"):
        pass


class Connection:
    """A client that stays until told to leave, and keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.left = anyio.Event()

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)

    @property
    def ended(self) -> bool:
        last = self.sent[-1]
        return last["type"] == "http.response.body" and not last["more_body"]


async def endless(closed: list[bool]) -> AsyncIterator[bytes]:
    try:
        yield b"first "
        await anyio.sleep_forever()
    finally:
        closed.append(True)


async def two_chunks() -> AsyncIterator[bytes]:
    yield b"one "
    yield b"two"


def answer(source: AsyncIterator[bytes], streams: Streams) -> StreamedAnswer:
    return StreamedAnswer(source, streams, media_type="text/plain", last_words=b"good night")


async def test_a_source_that_ends_is_sent_whole() -> None:
    connection, streams = Connection(), Streams()
    await answer(two_chunks(), streams)({"type": "http"}, connection.receive, connection.send)
    assert connection.body == b"one two"
    assert connection.ended
    assert len(streams) == 0


async def test_told_to_end_it_says_its_last_words_and_closes_its_source() -> None:
    connection, streams, closed = Connection(), Streams(), list[bool]()
    async with anyio.create_task_group() as group:
        stream = answer(endless(closed), streams)
        group.start_soon(stream, {"type": "http"}, connection.receive, connection.send)
        await eventually(lambda: connection.body == b"first ")
        assert streams.end_all() == 1
    assert connection.body == b"first good night"
    assert connection.ended
    assert closed == [True]


async def test_a_client_that_leaves_closes_the_source() -> None:
    connection, streams, closed = Connection(), Streams(), list[bool]()
    async with anyio.create_task_group() as group:
        stream = answer(endless(closed), streams)
        group.start_soon(stream, {"type": "http"}, connection.receive, connection.send)
        await eventually(lambda: connection.body == b"first ")
        connection.left.set()
    assert closed == [True]
    assert len(streams) == 0


async def test_a_stream_that_comes_after_the_end_ends_at_once() -> None:
    connection, streams = Connection(), Streams()
    streams.end_all()
    stream = answer(endless([]), streams)
    await stream({"type": "http"}, connection.receive, connection.send)
    assert connection.ended


async def test_a_file_that_is_told_to_end_does_not_look_whole() -> None:
    connection, streams = Connection(), Streams()
    streams.end_all()
    file = StreamedAnswer(endless([]), streams, media_type="text/plain", is_file=True)
    with pytest.raises(IncompleteFile):
        await file({"type": "http"}, connection.receive, connection.send)
    assert not connection.ended


async def test_a_client_that_leaves_a_file_is_no_error() -> None:
    connection, streams = Connection(), Streams()
    connection.left.set()
    file = StreamedAnswer(endless([]), streams, media_type="text/plain", is_file=True)
    await file({"type": "http"}, connection.receive, connection.send)
    assert len(streams) == 0


async def test_an_error_in_the_source_is_not_hidden() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"first"
        raise ValueError("torn")

    connection = Connection()
    with pytest.raises(ValueError, match="torn"):
        await answer(broken(), Streams())({"type": "http"}, connection.receive, connection.send)
    assert not connection.ended
