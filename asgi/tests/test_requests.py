"""Conversations: requests one after the other on a connection, without sockets."""

import asyncio
import contextlib
import gc
import re
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery_asgi.types import App, Receive, Scope, Send
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


class Endpoint:
    """An application that is awaited itself, as Starlette's HTTPEndpoint is."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._send = send

    def __await__(self) -> Generator[Any, None, None]:
        return answer(self._send, b"awaited").__await__()


def future_answer(scope: Scope, receive: Receive, send: Send) -> "asyncio.Future[None]":
    return asyncio.ensure_future(answer(send, b"awaited"))


@pytest.mark.parametrize("app", [Endpoint, future_answer])
def test_an_application_may_return_any_awaitable(app: App) -> None:
    async def story() -> None:
        machine = Machine(app)
        assert body_of(await machine.ask(GET)) == b"awaited"
        assert machine.hooks.failures == []

    play(story)


def test_what_can_not_be_awaited_is_a_500() -> None:
    async def story() -> None:
        app: Any = lambda scope, receive, send: None  # noqa: E731
        machine = Machine(app)
        assert status_of(await machine.ask(GET)) == 500
        assert [type(failure) for failure in machine.hooks.failures] == [TypeError]

    play(story)


def waiting_futures() -> int:
    gc.collect()
    return sum(isinstance(found, asyncio.Future) for found in gc.get_objects())


def test_a_receive_that_is_given_up_leaves_nothing_behind() -> None:
    async def story() -> None:
        left: list[int] = []

        async def impatient(scope: Scope, receive: Receive, send: Send) -> None:
            await receive()
            before = waiting_futures()
            for _ in range(300):
                task = asyncio.ensure_future(receive())
                await asyncio.sleep(0)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            del task
            left.append(waiting_futures() - before)
            await answer(send)

        machine = Machine(impatient)
        machine.conn.feed(GET)
        while not left:
            await asyncio.sleep(0)
        assert left[0] < 10

    play(story)


def test_a_send_that_is_given_up_leaves_nothing_behind() -> None:
    async def story() -> None:
        left: list[int] = []

        async def impatient(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200})
            before = waiting_futures()
            for _ in range(300):
                message = {"type": "http.response.body", "body": b"x" * 70_000, "more_body": True}
                task = asyncio.ensure_future(send(message))
                await asyncio.sleep(0)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            del task
            left.append(waiting_futures() - before)

        machine = Machine(impatient)
        machine.conn.feed(GET)
        while not left:
            await asyncio.sleep(0)
        assert left[0] < 10

    play(story)


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"\0"])
def test_refusals_say_their_date_and_server(data: bytes) -> None:
    async def story() -> None:
        refused = await Machine(hello).ask(data)
        assert status_of(refused) == 400
        assert re.search(rb"\r\nserver: rookery-asgi\r\ndate: \w+, \d\d \w+ \d{4} ", refused)
        bare = await Machine(hello, date=False, server=False).ask(data)
        assert b"\r\ndate:" not in bare
        assert b"\r\nserver:" not in bare

    play(story)


def test_the_access_log_has_the_requests_that_were_refused() -> None:
    async def story() -> None:
        machine = Machine(echo, body_bytes=5)
        await machine.feed(CHUNKED + b"6\r\nabcdef\r\n0\r\n\r\n")
        other = machine.core.connection(("10.0.0.9", 1), None)
        other.feed(b"nonsense\r\n\r\n")
        lines = [(entry[0], entry[1]) for entry in machine.access]
        assert lines == [
            ((("10.0.0.1", 5000), "POST", b"/"), 413),
            ((("10.0.0.9", 1), "", b""), 400),
        ]

    play(story)


@pytest.mark.parametrize("rest", [b"no chunk\r\n", b"2\r\nabcd\r\n"])
def test_a_body_that_goes_wrong_after_its_answer_gets_no_second_one(rest: bytes) -> None:
    async def story() -> None:
        machine = Machine(hello)
        response = await machine.ask(CHUNKED + b"1\r\nx\r\n")
        assert status_of(response) == 200
        assert await machine.ask(rest + GET) == b""
        assert not machine.conn.open
        assert [entry[1] for entry in machine.access] == [200]

    play(story)


def test_a_body_that_does_not_come_after_its_answer_gets_no_second_one() -> None:
    async def story() -> None:
        machine = Machine(hello, body_seconds=0.001, least_bytes=10)
        response = await machine.ask(POST[:-1])
        assert status_of(response) == 200
        await asyncio.sleep(0.01)
        machine.core.sweep()
        assert machine.conn.take() == b""
        assert not machine.conn.open

    play(story)
