"""Requests on their way to the application, without sockets."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery_asgi.types import Message, Receive, Scope, Send
from tests.machine import (
    GET,
    Machine,
    Recorder,
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


def scope_for(request: bytes, **options: Any) -> Scope:
    found: list[Scope] = []

    async def story() -> None:
        app = Recorder()
        await Machine(app, **options).feed(request)
        found.extend(app.scopes)

    play(story)
    return found[0]


def test_a_scope_has_what_the_specification_asks_for() -> None:
    scope = scope_for(b"GET /a%20b/%C3%A9?x=%20 HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a: 2\r\n\r\n")
    assert scope == {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.5"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/a b/é",
        "raw_path": b"/a%20b/%C3%A9",
        "query_string": b"x=%20",
        "root_path": "",
        "headers": [(b"host", b"h"), (b"x-a", b"1"), (b"x-a", b"2")],
        "client": ("10.0.0.1", 5000),
        "server": ("10.0.0.2", 80),
        "state": {},
        "extensions": {},
    }


def test_every_request_has_a_state_of_its_own() -> None:
    async def story() -> None:
        shared = {"list": [1]}
        app = Recorder()
        await Machine(app, state=shared).feed(GET * 2)
        first, second = (scope["state"] for scope in app.scopes)
        assert first == second == shared
        assert first is not second
        assert first["list"] is shared["list"]

    play(story)


@pytest.mark.parametrize(
    ("target", "path", "raw", "query"),
    [
        (b"/", "/", b"/", b""),
        (b"/?", "/", b"/", b""),
        (b"/a?b?c", "/a", b"/a", b"b?c"),
        (b"http://x/a?b", "/a", b"/a", b"b"),
        (b"http://x", "/", b"/", b""),
        (b"http://x?q", "/", b"/", b"q"),
        (b"/%", "/%", b"/%", b""),
        (b"/%4", "/%4", b"/%4", b""),
        (b"/%zz", "/%zz", b"/%zz", b""),
        (b"/%2F%2f", "///", b"/%2F%2f", b""),
        (b"/%FF", "/�", b"/%FF", b""),
        (b"/%00", "/\0", b"/%00", b""),
    ],
)
def test_paths_are_decoded_and_kept_raw(target: bytes, path: str, raw: bytes, query: bytes) -> None:
    scope = scope_for(b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    assert (scope["path"], scope["raw_path"], scope["query_string"]) == (path, raw, query)


def test_the_root_path_is_part_of_the_path() -> None:
    scope = scope_for(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n", root_path="/api")
    assert (scope["root_path"], scope["path"], scope["raw_path"]) == ("/api", "/api/x", b"/api/x")


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_a_conversation_is_the_same_in_any_pieces(step: int) -> None:
    async def story() -> None:
        chunked = CHUNKED + b"3\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n"
        machine = Machine(echo, date=False, server=False)
        response = await machine.ask(POST + chunked + GET + POST, step=step)
        bodies = [part.partition(b"\r\n\r\n")[2] for part in response.split(b"HTTP/1.1 200 OK")[1:]]
        assert bodies == [b"hello", b"abcde", b"", b"hello"]
        assert machine.conn.open

    play(story)


PARTS = (
    GET,
    POST,
    CHUNKED,
    b"5\r\nhello\r\n",
    b"0\r\n\r\n",
    b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"\r\n",
    b"\0",
    b"G",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\n",
)


@given(st.lists(st.sampled_from(PARTS), max_size=8), st.integers(1, 40))
@settings(max_examples=150, deadline=None)
def test_any_conversation_is_the_same_in_any_pieces(parts: list[bytes], step: int) -> None:
    async def story() -> None:
        data = b"".join(parts)
        whole, pieces = (Machine(echo, date=False, server=False) for _ in range(2))
        assert await pieces.ask(data, step=step) == await whole.ask(data)
        assert pieces.conn.open == whole.conn.open

    play(story)


def test_pipelined_requests_are_answered_in_order() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/slow":
            await asyncio.sleep(0.01)
        await answer(send, scope["path"].encode())

    async def story() -> None:
        machine = Machine(app)
        paths = [b"/slow", b"/fast", b"/slow", b"/last"]
        await machine.feed(b"".join(b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n" % p for p in paths))
        await asyncio.sleep(0.1)
        response = machine.conn.take()
        found = [part.partition(b"\r\n\r\n")[2] for part in response.split(b"HTTP/1.1 200 OK")[1:]]
        assert found == paths

    play(story)


def test_what_waits_in_a_pipeline_is_served_in_one_turn_of_the_loop() -> None:
    async def story() -> None:
        machine = Machine(hello)
        machine.conn.feed(GET * 100)
        await settle()
        assert machine.conn.take().count(b"hello") == 100

    play(story)


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
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.01)
        await answer(send, b"late")

    async def story() -> None:
        machine = Machine(app)
        await machine.feed(GET)
        machine.conn.feed_eof()
        await asyncio.sleep(0.05)
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

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            for _ in range(3):
                try:
                    await asyncio.wait_for(receive(), 0.005)
                except TimeoutError:
                    continue
            seen.append(await read_body(receive))

        machine = Machine(app)
        await machine.feed(POST[:-5])
        await asyncio.sleep(0.05)
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


def test_http_1_0_is_answered_and_closed() -> None:
    async def story() -> None:
        machine = Machine(hello)
        response = await machine.ask(b"GET / HTTP/1.0\r\n\r\n")
        assert status_of(response) == 200
        assert b"connection: close" in response
        assert not machine.conn.open
        kept = Machine(hello)
        response = await kept.ask(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        assert b"connection: keep-alive" in response
        assert kept.conn.open

    play(story)


def test_a_refusal_ends_the_connection() -> None:
    async def story() -> None:
        machine = Machine(hello)
        response = await machine.ask(b"GET / HTTP/1.1\r\n\r\n" + GET)
        assert status_of(response) == 400
        assert response.count(b"HTTP/1.1") == 1
        assert b"connection: close" in response
        assert not machine.conn.open

    play(story)


def test_the_log_has_a_line_per_request() -> None:
    async def story() -> None:
        machine = Machine(hello)
        await machine.feed(b"GET /a?b HTTP/1.1\r\nHost: a\r\n\r\n")
        (((client, method, target), status, sent, seconds),) = machine.access
        assert (client, method, target) == (("10.0.0.1", 5000), "GET", b"/a?b")
        assert (status, sent) == (200, 5)
        assert seconds >= 0

    play(story)


def test_the_first_step_of_a_request_knows_its_task() -> None:
    async def story() -> None:
        tasks: list[asyncio.Task[Any] | None] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            tasks.append(asyncio.current_task())
            async with asyncio.timeout(1):
                await asyncio.sleep(0)
            tasks.append(asyncio.current_task())
            await answer(send)

        await Machine(app).feed(GET)
        assert tasks[0] is not None
        assert tasks[0] is tasks[1]

    play(story)
