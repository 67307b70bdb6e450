"""Responses on their way to the client, without sockets."""

import asyncio
from typing import Any

import pytest

from rookery_asgi._core import ClientDisconnected
from rookery_asgi.types import App, Message, Receive, Scope, Send
from tests.machine import GET, Machine, answer, body_of, hello, play, settle, status_of

HEAD = GET.replace(b"GET", b"HEAD")


def sending(*messages: Message) -> App:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(dict(message))

    return app


def start(status: int = 200, *headers: tuple[bytes, bytes]) -> Message:
    return {"type": "http.response.start", "status": status, "headers": list(headers)}


def body(data: bytes = b"", *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


def respond(app: App, request: bytes = GET, **options: Any) -> tuple[bytes, Machine]:
    found: list[tuple[bytes, Machine]] = []

    async def story() -> None:
        machine = Machine(app, **({"date": False, "server": False} | options))
        found.append((await machine.ask(request), machine))

    play(story)
    return found[0]


def error_of(app: App, request: bytes = GET) -> str:
    _, machine = respond(app, request)
    (failure,) = machine.hooks.failures
    return str(failure)


def test_a_response_in_one_piece_gets_its_length() -> None:
    response, _ = respond(sending(start(200, (b"x", b"1")), body(b"hello")))
    assert response == b"HTTP/1.1 200 OK\r\nx: 1\r\ncontent-length: 5\r\n\r\nhello"


def test_repeated_headers_all_go_out() -> None:
    pair = ((b"set-cookie", b"a=1"), (b"set-cookie", b"b=2"))
    response, _ = respond(sending(start(200, *pair), body()))
    assert b"set-cookie: a=1\r\nset-cookie: b=2\r\n" in response


def test_date_and_server_are_added_unless_given() -> None:
    response, _ = respond(hello, date=True, server=True)
    assert b"\r\ndate: " in response
    assert b" GMT\r\n" in response
    assert b"\r\nserver: rookery-asgi\r\n" in response
    own = ((b"Date", b"today"), (b"Server", b"mine"))
    response, _ = respond(sending(start(200, *own), body()), date=True, server=True)
    assert response.lower().count(b"date:") == response.lower().count(b"server:") == 1


def test_a_streamed_response_is_chunked() -> None:
    response, _ = respond(sending(start(), body(b"a" * 17, more=True), body(b"b")))
    assert b"transfer-encoding: chunked\r\n" in response
    assert body_of(response) == b"11\r\n" + b"a" * 17 + b"\r\n1\r\nb\r\n0\r\n\r\n"


def test_empty_pieces_do_not_end_a_stream() -> None:
    response, _ = respond(sending(start(), body(more=True), body(b"x", more=True), body()))
    assert body_of(response) == b"1\r\nx\r\n0\r\n\r\n"


def test_a_stream_with_a_length_is_not_chunked() -> None:
    length = (b"content-length", b"4")
    response, _ = respond(sending(start(200, length), body(b"ab", more=True), body(b"cd")))
    assert b"transfer-encoding" not in response
    assert body_of(response) == b"abcd"


def test_an_application_that_asks_for_chunked_gets_it() -> None:
    coding = (b"Transfer-Encoding", b"chunked")
    response, _ = respond(sending(start(200, coding), body(b"ab")))
    assert response.lower().count(b"transfer-encoding: chunked") == 1
    assert body_of(response) == b"2\r\nab\r\n0\r\n\r\n"


def test_a_stream_to_http_1_0_ends_with_the_connection() -> None:
    app = sending(start(), body(b"a", more=True), body(b"b"))
    response, machine = respond(app, b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert b"transfer-encoding" not in response
    assert body_of(response) == b"ab"
    assert not machine.conn.open


@pytest.mark.parametrize("status", [204, 304])
def test_statuses_without_a_body_have_none(status: int) -> None:
    response, machine = respond(sending(start(status), body(b"ignored")))
    assert response.endswith(b"\r\n\r\n")
    assert b"content-length" not in response
    assert machine.conn.open


def test_head_has_the_headers_and_no_body() -> None:
    response, _ = respond(hello, HEAD)
    assert response == b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"
    streamed, _ = respond(sending(start(), body(b"a", more=True), body(b"b")), HEAD)
    assert body_of(streamed) == b""
    given, _ = respond(sending(start(200, (b"content-length", b"99")), body()), HEAD)
    assert b"content-length: 99\r\n" in given


def test_bytes_like_bodies_are_taken() -> None:
    view = {"type": "http.response.body", "body": memoryview(bytearray(b"abc"))}
    assert body_of(respond(sending(start(), view))[0]) == b"abc"


def test_connection_close_from_the_application_is_kept() -> None:
    response, machine = respond(sending(start(200, (b"Connection", b"close")), body()))
    assert response.lower().count(b"connection: close") == 1
    assert not machine.conn.open


def test_a_last_request_is_answered_with_close() -> None:
    response, machine = respond(hello, GET.replace(b"Host: a", b"Host: a\r\nConnection: close"))
    assert b"connection: close\r\n" in response
    assert not machine.conn.open


@pytest.mark.parametrize(
    ("messages", "sentence"),
    [
        ([body()], "before http.response.start"),
        ([start(), start()], "sent twice"),
        ([start(), body(), body()], "already ended"),
        ([{"type": "http.response.push"}], "no message of type"),
        ([{"nothing": 1}], "has a type"),
        ([start(99)], "from 200 to 999"),
        ([start(101)], "from 200 to 999"),
        ([start(200, (b"a\r\nb", b"c"))], "can't have"),
        ([start(200, (b"a", b"b\r\nc: d"))], "can't have"),
        ([start(200, (b"a", b"\0"))], "can't have"),
        ([start(200, (b"", b"x"))], "can't have"),
        ([start(200, (b"content-length", b"x"))], "not one number"),
        ([start(200, (b"transfer-encoding", b"gzip"))], "chunked"),
        ([start(200, (b"content-length", b"2")), body(b"abc")], "longer"),
        ([start(200, (b"content-length", b"2")), body(b"a")], "shorter"),
    ],
)
def test_impossible_messages_raise_in_the_application(
    messages: list[Message], sentence: str
) -> None:
    assert sentence in error_of(sending(*messages))


@pytest.mark.parametrize(
    "headers", [[("a", "b")], [(b"a",)], [(b"a", b"b", b"c")], [(b"a", None)], 5]
)
def test_headers_that_are_no_pairs_of_bytes_raise_in_the_application(headers: Any) -> None:
    app = sending({"type": "http.response.start", "status": 200, "headers": headers})
    response, machine = respond(app)
    assert status_of(response) == 500
    assert isinstance(machine.hooks.failures[0], TypeError)


@pytest.mark.parametrize("given", [b"a", b"abc"])
def test_a_first_body_that_belies_its_length_gives_a_500(given: bytes) -> None:
    response, _ = respond(sending(start(200, (b"content-length", b"2")), body(given)))
    assert status_of(response) == 500


def test_an_application_may_try_again_after_a_bad_start() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with pytest.raises(RuntimeError):
            await send(start(200, (b"content-length", b"9"), (b"bad name", b"")))
        await answer(send, b"fine")

    response, _ = respond(app)
    assert response == b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine"


def test_an_application_that_raises_gives_a_500() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise LookupError("oops")

    response, machine = respond(app)
    assert status_of(response) == 500
    assert b"connection: close" in response
    assert not machine.conn.open
    assert isinstance(machine.hooks.failures[0], LookupError)


def test_an_application_that_raises_after_start_gives_a_500() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        raise LookupError("oops")

    assert status_of(respond(app)[0]) == 500


def test_an_application_that_raises_in_its_body_cuts_the_connection() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        await send(body(b"part", more=True))
        raise LookupError("oops")

    response, machine = respond(app)
    assert status_of(response) == 200
    assert not response.endswith(b"0\r\n\r\n")
    assert not machine.conn.open


def test_an_application_that_raises_after_its_response_harms_nothing() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"fine")
        raise LookupError("oops")

    response, machine = respond(app, GET * 2)
    assert response.count(b"fine") == 2
    assert machine.conn.open
    assert len(machine.hooks.failures) == 2


def test_an_application_that_returns_early_gives_a_500() -> None:
    assert "no response" in error_of(sending())
    assert status_of(respond(sending())[0]) == 500
    assert "not finish" in error_of(sending(start()))


def test_a_call_that_is_no_coroutine_gives_a_500() -> None:
    def app(scope: Scope, receive: Receive, send: Send) -> Any:
        return None

    assert status_of(respond(app)[0]) == 500


def test_send_waits_above_the_high_water_mark() -> None:
    async def story() -> None:
        sent: list[int] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send(start())
            for i in range(10):
                await send(body(b"x" * 50, more=True))
                sent.append(i)
            await send(body())

        machine = Machine(app, high_water=200)
        await machine.feed(GET)
        blocked = len(sent)
        assert blocked < 4
        while machine.conn.buffered:
            machine.conn.take()
            await settle()
        assert len(sent) == 10

    play(story)


def test_a_waiting_send_raises_when_the_client_is_gone() -> None:
    async def story() -> None:
        raised: list[BaseException] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send(start())
            try:
                await send(body(b"x" * 500, more=True))
            except OSError as error:
                raised.append(error)
                raise

        machine = Machine(app, high_water=100)
        await machine.feed(GET)
        machine.conn.abort()
        await settle()
        assert isinstance(raised[0], ClientDisconnected)
        assert machine.hooks.failures == []

    play(story)


def test_an_endless_stream_gives_others_their_turn() -> None:
    async def story() -> None:
        turns: list[int] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send(start())
            for _ in range(40):
                await send(body(b"x" * 65536, more=True))
            await send(body())

        machine = Machine(app, high_water=1 << 30)
        machine.conn.feed(GET)
        for turn in range(20):
            await asyncio.sleep(0)
            if machine.core.counters()["running"]:
                turns.append(turn)
        assert len(turns) >= 4

    play(story)


def test_counters_count() -> None:
    _, machine = respond(hello, GET * 3)
    counters = machine.core.counters()
    assert counters["requests"] == 3
    assert counters["responses"] == (0, 3, 0, 0, 0)
    assert counters["running"] == 0


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_headers_may_be_any_kind_of_bytes(kind: Any) -> None:
    app = sending(start(200, (kind(b"x-a"), kind(b"1"))), body(b"b"))
    response, machine = respond(app)
    assert b"\r\nx-a: 1\r\n" in response
    assert machine.hooks.failures == []


def test_headers_may_not_be_text() -> None:
    app: Any = sending({"type": "http.response.start", "status": 200, "headers": [("a", "b")]})
    response, machine = respond(app)
    assert status_of(response) == 500
    assert "pair of bytes" in str(machine.hooks.failures)


def test_a_204_has_no_length() -> None:
    response, machine = respond(sending(start(204, (b"content-length", b"0")), body()), GET * 2)
    assert response == b"HTTP/1.1 204 No Content\r\n\r\n" * 2
    assert machine.hooks.failures == []


class Watched(bytes):
    """Bytes that tell when they go."""

    gone: list[bytes] = []  # noqa: RUF012

    def __del__(self) -> None:
        self.gone.append(bytes(self))


def test_the_output_keeps_no_object_whose_end_could_run_code() -> None:
    async def story() -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send(start())
            await send(body(Watched(b"x" * 100_000)))

        Watched.gone.clear()
        machine = Machine(app)
        await machine.feed(GET)
        assert machine.conn.buffered > 100_000
        assert Watched.gone == [b"x" * 100_000]
        with pytest.raises(TypeError):
            machine.conn.write(Watched(b"y"))

    play(story)
