"""Bodies on their way to the application, whole, in pieces or cut short, without sockets."""

import asyncio

import pytest

from rookery_asgi.types import Message, Receive, Scope, Send
from tests.machine import (
    GET,
    Machine,
    answer,
    body_of,
    echo,
    hello,
    play,
    read_body,
    settle,
    status_of,
)

POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_a_body_reaches_the_application_while_it_arrives() -> None:
    async def story() -> None:
        seen: list[Message] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            while not seen or seen[-1]["more_body"]:
                seen.append(await receive())
            await answer(send)

        machine = Machine(app)
        await machine.feed(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nab")
        assert [m["body"] for m in seen] == [b"ab"]
        await machine.feed(b"cd")
        await machine.feed(b"ef")
        assert [(m["body"], m["more_body"]) for m in seen] == [
            (b"ab", True),
            (b"cd", True),
            (b"ef", False),
        ]

    play(story)


def test_chunks_that_arrive_together_are_joined() -> None:
    async def story() -> None:
        tail = b"1\r\na\r\n1\r\nb\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n"
        assert body_of(await Machine(echo).ask(CHUNKED + tail)) == b"abcde"
        assert bytes([97]) == b"a"  # Python's own single bytes are as they were

    play(story)


def test_a_truncated_body_is_a_disconnect_and_never_complete() -> None:
    async def story() -> None:
        for request in (POST[:-1], CHUNKED + b"5\r\nhello\r\n", CHUNKED + b"5\r\nhello\r\n0\r\n"):
            seen: list[Message] = []

            async def app(
                scope: Scope, receive: Receive, send: Send, seen: list[Message] = seen
            ) -> None:
                while True:
                    seen.append(await receive())
                    if seen[-1]["type"] == "http.disconnect":
                        return

            machine = Machine(app)
            await machine.feed(request)
            machine.conn.feed_eof()
            await settle()
            assert seen[-1] == {"type": "http.disconnect"}
            assert all(m["more_body"] for m in seen[:-1])
            assert not machine.conn.open

    play(story)


def test_a_malformed_chunk_is_refused_and_the_application_told() -> None:
    async def story() -> None:
        seen: list[Message] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            while not seen or seen[-1]["type"] != "http.disconnect":
                seen.append(await receive())

        machine = Machine(app)
        await machine.feed(CHUNKED + b"3\r\nabc\r\n")
        assert status_of(await machine.ask(b"X")) == 400
        assert [m["type"] for m in seen] == ["http.request", "http.disconnect"]

    play(story)


def test_a_disconnect_is_seen_after_the_body() -> None:
    async def story() -> None:
        seen: list[Message] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            seen.extend([await receive(), await receive()])

        machine = Machine(app)
        await machine.feed(POST)
        assert [m["type"] for m in seen] == []
        machine.conn.feed_eof()
        await settle()
        assert [m["type"] for m in seen] == ["http.request", "http.disconnect"]

    play(story)


def test_a_client_that_closes_its_side_still_gets_its_answer() -> None:
    async def story() -> None:
        closed = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await closed.wait()
            await answer(send, b"late")

        machine = Machine(app)
        await machine.feed(GET)
        machine.conn.feed_eof()
        closed.set()
        await settle()
        assert body_of(machine.conn.take()) == b"late"
        assert not machine.conn.open

    play(story)


def test_receive_says_disconnect_once_the_response_has_ended() -> None:
    async def story() -> None:
        seen: list[Message] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await read_body(receive)
            waiting = asyncio.ensure_future(receive())
            await asyncio.sleep(0)
            await answer(send)
            seen.append(await waiting)
            seen.append(await receive())

        await Machine(app).feed(GET)
        assert seen == [{"type": "http.disconnect"}] * 2

    play(story)


def test_a_cancelled_receive_loses_nothing() -> None:
    async def story() -> None:
        seen: list[bytes] = []
        tried = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            for _ in range(3):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(receive(), 0.005)
            tried.set()
            seen.append(await read_body(receive))

        machine = Machine(app)
        await machine.feed(POST[:-5])
        await tried.wait()
        await machine.feed(b"hello")
        assert seen == [b"hello"]

    play(story)


def test_continue_is_said_when_the_application_asks_for_the_body() -> None:
    async def story() -> None:
        head = POST[:-5].replace(b"Host: a", b"Host: a\r\nExpect: 100-continue")
        machine = Machine(echo)
        assert await machine.ask(head) == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert body_of(await machine.ask(b"hello")) == b"hello"
        refusing = Machine(hello)
        response = await refusing.ask(head)
        assert status_of(response) == 200
        assert b"connection: close" in response

    play(story)


def test_a_body_beyond_the_limit_is_refused() -> None:
    async def story() -> None:
        sized = Machine(echo, body_bytes=4)
        assert status_of(await sized.ask(POST)) == 413
        chunked = Machine(echo, body_bytes=4)
        assert status_of(await chunked.ask(CHUNKED + b"5\r\nhello\r\n0\r\n\r\n")) == 413
        within = Machine(echo, body_bytes=5)
        assert status_of(await within.ask(POST)) == 200

    play(story)


def test_what_an_application_leaves_unread_does_not_disturb_the_next_request() -> None:
    async def story() -> None:
        machine = Machine(hello)
        assert status_of(await machine.ask(POST[:-3])) == 200
        assert status_of(await machine.ask(b"llo" + GET)) == 200
        assert machine.conn.open
        huge = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"
        assert status_of(await machine.ask(huge)) == 200
        await machine.feed(b"x" * 400_000)
        assert not machine.conn.open

    play(story)
