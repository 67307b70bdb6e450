"""Conversations: requests one after the other on a connection, without sockets."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery_asgi.types import Receive, Scope, Send
from tests.machine import (
    GET,
    Hooks,
    Machine,
    answer,
    body_of,
    echo,
    hello,
    play,
    settle,
    status_of,
)

POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


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
        response = b""
        while response.count(b"HTTP/1.1 200 OK") < len(paths):
            await asyncio.sleep(0.001)
            response += machine.conn.take()
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


def test_whoever_is_refused_is_told_of() -> None:
    async def story() -> None:
        told: list[Any] = []
        hooks = Hooks()
        hooks.refused = lambda *words: told.append(words)
        await Machine(hello, hooks=hooks).ask(b"GET / HTTP/9.9\r\n\r\n")
        assert told == [(("10.0.0.1", 5000), 505)]

    play(story)


def test_who_never_sends_a_head_is_told_of() -> None:
    async def story() -> None:
        told: list[Any] = []
        hooks = Hooks()
        hooks.refused = lambda *words: told.append(words)
        machine = Machine(hello, hooks=hooks, head_seconds=0.001)
        await asyncio.sleep(0.01)
        machine.core.sweep()
        assert told == [(("10.0.0.1", 5000), 408)]
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


def test_the_task_of_a_request_is_named_for_it() -> None:
    async def name_of_task(scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None
        await answer(send, task.get_name().encode())

    async def story() -> None:
        assert body_of(await Machine(name_of_task).ask(GET)) == b"request"

    play(story)


def test_a_cancelled_application_is_answered_for_and_not_reported() -> None:
    async def given_up(scope: Scope, receive: Receive, send: Send) -> None:
        raise asyncio.CancelledError

    async def story() -> None:
        machine = Machine(given_up)
        assert status_of(await machine.ask(GET)) == 500
        assert machine.hooks.failures == []

    play(story)
