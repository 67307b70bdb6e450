"""Streams end when told to, when their client leaves, and when they are done."""

from collections.abc import AsyncIterator

import anyio
import pytest
from starlette.types import Message

from rookery.web.bodies import StreamedAnswer, Streams
from tests.eventually import eventually

pytestmark = pytest.mark.anyio


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


async def test_an_error_in_the_source_is_not_hidden() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"first"
        raise ValueError("torn")

    connection = Connection()
    with pytest.raises(ValueError, match="torn"):
        await answer(broken(), Streams())({"type": "http"}, connection.receive, connection.send)
    assert not connection.ended
