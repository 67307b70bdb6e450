"""A WebSocket session without sockets: handshake, application, end."""

import asyncio
from typing import Any

import pytest

from rookery_asgi import _core
from rookery_asgi._core import ClientDisconnected
from rookery_asgi.options import Options
from rookery_asgi.server import Hooks
from rookery_asgi.types import App, Message, Receive, Scope, Send
from tests.machine import Machine, answer, body_of, hello, play, settle, status_of
from tests.test_frames import masked
from tests.test_requests import waiting_futures

SHAKE = (
    b"GET /chat?x=1 HTTP/1.1\r\nHost: a\r\n"
    b"Upgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


def shake(*lines: bytes) -> bytes:
    return SHAKE + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


def machine_for(app: App, **options: Any) -> Machine:
    return Machine(app, hooks=Hooks(Options(**options), app, None))


async def accept_and_echo(scope: Scope, receive: Receive, send: Send) -> None:
    assert await receive() == {"type": "websocket.connect"}
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({**message, "type": "websocket.send"})


def test_without_websockets_the_wish_to_upgrade_is_ignored() -> None:
    async def story() -> None:
        answer = await machine_for(hello, ws=False).ask(shake())
        assert answer.startswith(b"HTTP/1.1 200 ")

    play(story)


def test_the_scope_of_a_websocket() -> None:
    async def story() -> None:
        scopes: list[Scope] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            scopes.append(scope)
            await send({"type": "websocket.close"})

        await machine_for(app).feed(shake(b"Sec-WebSocket-Protocol: a, b"))
        scope = scopes[0]
        assert (scope["type"], scope["scheme"], scope["path"]) == ("websocket", "ws", "/chat")
        assert scope["subprotocols"] == ["a", "b"]
        assert scope["query_string"] == b"x=1"
        assert scope["extensions"] == {"websocket.http.response": {}}
        assert "method" not in scope

    play(story)


def test_nothing_is_answered_before_the_application_decides() -> None:
    async def story() -> None:
        decide = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await decide.wait()
            await send({"type": "websocket.accept"})
            assert (await receive())["type"] == "websocket.connect"
            assert (await receive())["text"] == "early"

        machine = machine_for(app)
        assert await machine.ask(shake() + masked(0x81, b"early")) == b""
        decide.set()
        await settle()
        response = machine.conn.take()
        assert status_of(response) == 101
        assert b"sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in response

    play(story)


@pytest.mark.parametrize("step", [0, 1])
def test_messages_are_echoed(step: int) -> None:
    async def story() -> None:
        machine = machine_for(accept_and_echo)
        await machine.feed(shake())
        machine.conn.take()
        answers = await machine.ask(
            masked(0x81, b"hi") + masked(0x82, b"\0") + masked(0x89, b"p"), step=step
        )
        assert sorted([b"\x81\x02hi", b"\x82\x01\0", b"\x8a\x01p"]) == sorted(
            [answers[i : i + n] for i, n in cut(answers)]
        )

    play(story)


def cut(frames: bytes) -> list[tuple[int, int]]:
    """Where short frames begin and how long they are."""
    at, found = 0, []
    while at < len(frames):
        found.append((at, 2 + frames[at + 1]))
        at += 2 + frames[at + 1]
    return found


def test_subprotocol_and_headers_of_an_accept() -> None:
    async def story() -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            headers = [(b"x-a", b"1"), (b"set-cookie", b"b")]
            await send({"type": "websocket.accept", "subprotocol": "b", "headers": headers})

        response = await machine_for(app).ask(shake(b"Sec-WebSocket-Protocol: a, b"))
        assert b"sec-websocket-protocol: b\r\n" in response
        assert b"x-a: 1\r\nset-cookie: b\r\n" in response

    play(story)


def test_closing_before_accepting_is_a_403() -> None:
    async def story() -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await receive()
            await send({"type": "websocket.close", "code": 4000})
            assert (await receive())["type"] == "websocket.disconnect"

        machine = machine_for(app)
        response = await machine.ask(shake())
        assert status_of(response) == 403
        assert not machine.conn.open

    play(story)


def test_a_denial_response_is_an_ordinary_one() -> None:
    async def story() -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            start = {
                "type": "websocket.http.response.start",
                "status": 401,
                "headers": [(b"x", b"y")],
            }
            await send(start)
            await send({"type": "websocket.http.response.body", "body": b"no ", "more_body": True})
            await send({"type": "websocket.http.response.body", "body": b"entry"})

        response = await machine_for(app).ask(shake())
        assert status_of(response) == 401
        assert b"x: y\r\n" in response
        assert body_of(response) == b"no entry"

    play(story)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (SHAKE.replace(b"Version: 13", b"Version: 8"), 426),
        (SHAKE.replace(b"Sec-WebSocket-Version: 13\r\n", b""), 426),
        (SHAKE.replace(b"dGhlIHNhbXBsZSBub25jZQ==", b"short"), 400),
        (SHAKE + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", 400),
        (SHAKE + b"Content-Length: 5\r\n", 400),
    ],
)
def test_unsound_handshakes_are_refused(lines: bytes, status: int) -> None:
    async def story() -> None:
        machine = machine_for(hello)
        assert status_of(await machine.ask(lines + b"\r\n")) == status
        assert not machine.conn.open

    play(story)


@pytest.mark.parametrize(
    "request_bytes",
    [
        shake().replace(b"GET", b"POST"),
        shake().replace(b"keep-alive, Upgrade", b"keep-alive"),
        shake().replace(b"WebSocket\r", b"h2c\r"),
    ],
)
def test_what_does_not_ask_for_a_websocket_gets_http(request_bytes: bytes) -> None:
    async def story() -> None:
        assert status_of(await machine_for(hello).ask(request_bytes)) == 200

    play(story)


def test_an_application_that_raises_gives_500_or_1011() -> None:
    async def story() -> None:
        async def before(scope: Scope, receive: Receive, send: Send) -> None:
            raise LookupError

        async def after(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "websocket.accept"})
            raise LookupError

        async def returns(scope: Scope, receive: Receive, send: Send) -> None:
            await receive()

        assert status_of(await machine_for(before).ask(shake())) == 500
        assert (await machine_for(after).ask(shake())).endswith(b"\x88\x02\x03\xf3")
        assert status_of(await machine_for(returns).ask(shake())) == 500

    play(story)


def test_an_application_that_returns_closes_with_1000() -> None:
    async def story() -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "websocket.accept"})

        assert (await machine_for(app).ask(shake())).endswith(b"\x88\x02\x03\xe8")

    play(story)


@pytest.mark.parametrize(
    ("frame", "code", "reason"),
    [
        (masked(0x88, b"\x0f\xa0bye"), 4000, "bye"),
        (masked(0x88, b""), 1005, ""),
        (b"\xff", 1002, "malformed frame"),
        (None, 1006, ""),
    ],
)
def test_the_application_learns_why_it_ended(frame: bytes | None, code: int, reason: str) -> None:
    async def story() -> None:
        seen: list[Message] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await receive()
            await send({"type": "websocket.accept"})
            seen.append(await receive())
            with pytest.raises(ClientDisconnected):
                await send({"type": "websocket.send", "text": "late"})

        machine = machine_for(app)
        await machine.feed(shake())
        if frame is None:
            machine.conn.feed_eof()
        else:
            machine.conn.feed(frame)
        await settle()
        assert seen == [{"type": "websocket.disconnect", "code": code, "reason": reason}]

    play(story)


def test_the_peers_close_is_answered_and_the_connection_ends() -> None:
    async def story() -> None:
        machine = machine_for(accept_and_echo)
        await machine.feed(shake())
        machine.conn.take()
        assert await machine.ask(masked(0x88, b"\x03\xe8")) == b"\x88\x02\x03\xe8"
        assert not machine.conn.open

    play(story)


def test_our_close_waits_for_the_peers() -> None:
    async def story() -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": 3000, "reason": "done"})

        machine = machine_for(app)
        response = await machine.ask(shake())
        assert response.endswith(b"\x88\x06\x0b\xb8done")
        assert machine.conn.open
        await machine.feed(masked(0x88, b"\x0b\xb8"))
        machine.conn.take()
        assert not machine.conn.open

    play(story)


def test_send_waits_while_the_client_does_not_read() -> None:
    async def story() -> None:
        sent: list[int] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "websocket.accept"})
            for i in range(8):
                await send({"type": "websocket.send", "bytes": b"x" * 40_000})
                sent.append(i)

        machine = machine_for(app, ws_per_message_deflate=False)
        await machine.feed(shake())
        assert len(sent) < 3
        while len(sent) < 8:
            assert machine.conn.take()
            await settle()

    play(story)


@pytest.mark.parametrize(
    "message",
    [
        {"type": "websocket.send", "text": "x"},
        {"type": "websocket.accept", "subprotocol": "not offered"},
        {"type": "websocket.accept", "headers": [(b"a", b"b\r\nc: d")]},
    ],
)
def test_impossible_messages_raise(message: Message) -> None:
    async def story() -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            with pytest.raises(RuntimeError):
                await send(message)
            await send({"type": "websocket.accept"})

        assert status_of(await machine_for(app).ask(shake())) == 101

    play(story)


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Pinged:
    """An open WebSocket whose time passes when the test says so."""

    def __init__(self, app: App | None = None, **options: Any) -> None:
        self.seen: list[Message] = []
        self.clock = Clock()
        self.machine = machine_for(app or self._listen, **options)
        self.machine.hooks.now = self.clock

    async def _listen(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        self.seen.append(await receive())

    async def open(self) -> None:
        await self.machine.feed(shake())
        self.machine.conn.take()

    async def after(self, seconds: float) -> bytes:
        """What the client gets when so much time has passed."""
        self.clock.now += seconds
        for session in list(self.machine.hooks.sessions):
            session.tick(self.clock.now)
        await settle()
        return self.machine.conn.take()

    async def pong(self) -> None:
        await self.machine.feed(masked(0x8A, b""))


PING = b"\x89\x00"


def test_pings_come_at_their_interval_however_long_a_pong_may_take() -> None:
    async def story() -> None:
        pinged = Pinged(ws_ping_interval=10, ws_ping_timeout=60)
        await pinged.open()
        for _ in range(3):
            assert await pinged.after(9) == b""
            assert await pinged.after(1) == PING
            await pinged.pong()

    play(story)


def test_a_client_that_sends_no_pong_in_time_is_told_1011_and_given_up() -> None:
    async def story() -> None:
        pinged = Pinged(ws_ping_interval=60, ws_ping_timeout=10)
        await pinged.open()
        assert await pinged.after(60) == PING
        assert await pinged.after(9) == b""
        assert (await pinged.after(1)).startswith(b"\x88\x0e\x03\xf3")
        assert not pinged.machine.conn.open
        assert [message["code"] for message in pinged.seen] == [1011]

    play(story)


def test_without_a_time_out_a_silent_client_is_pinged_for_ever() -> None:
    async def story() -> None:
        pinged = Pinged(ws_ping_interval=10, ws_ping_timeout=0)
        await pinged.open()
        for _ in range(20):
            assert await pinged.after(10) == PING

    play(story)


def test_without_an_interval_nothing_is_pinged() -> None:
    async def story() -> None:
        pinged = Pinged(ws_ping_interval=0, ws_ping_timeout=10)
        await pinged.open()
        assert await pinged.after(100_000) == b""
        assert pinged.machine.conn.open

    play(story)


def test_a_client_is_not_blamed_for_an_application_that_does_not_listen() -> None:
    async def story() -> None:
        async def deaf(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "websocket.accept"})
            await asyncio.get_running_loop().create_future()

        pinged = Pinged(deaf, ws_ping_interval=10, ws_ping_timeout=10, high_water=1000)
        await pinged.open()
        for _ in range(10):
            await pinged.machine.feed(masked(0x81, b"x"))
        assert pinged.machine.conn.held
        assert await pinged.after(10) == PING
        assert await pinged.after(100) == b""
        assert pinged.machine.conn.open
        (session,) = pinged.machine.hooks.sessions
        session.task.cancel()

    play(story)


def test_two_tasks_may_wait_for_messages() -> None:
    async def story() -> None:
        got: list[str] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await receive()
            await send({"type": "websocket.accept"})

            async def listen() -> None:
                got.append((await receive())["text"])

            await asyncio.gather(listen(), listen())

        machine = machine_for(app)
        await machine.feed(shake())
        await machine.feed(masked(0x81, b"one") + masked(0x81, b"two"))
        assert sorted(got) == ["one", "two"]

    play(story)


def test_a_receive_that_is_given_up_loses_no_message_and_leaves_nothing_behind() -> None:
    async def story() -> None:
        left: list[int] = []
        got: list[Message] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await receive()
            await send({"type": "websocket.accept"})
            before = waiting_futures()
            for _ in range(300):
                task = asyncio.ensure_future(receive())
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
            del task
            left.append(waiting_futures() - before)
            got.append(await receive())

        machine = machine_for(app)
        await machine.feed(shake())
        while not left:
            await asyncio.sleep(0)
        assert left[0] < 10
        await machine.feed(masked(0x81, b"kept"))
        assert [message["text"] for message in got] == ["kept"]

    play(story)


def test_a_send_that_is_given_up_leaves_nothing_behind() -> None:
    async def story() -> None:
        left: list[int] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "websocket.accept"})
            before = waiting_futures()
            for _ in range(300):
                task = asyncio.ensure_future(
                    send({"type": "websocket.send", "bytes": b"x" * 70_000})
                )
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
            del task
            left.append(waiting_futures() - before)

        machine = machine_for(app)
        await machine.feed(shake())
        while not left:
            await asyncio.sleep(0)
        assert left[0] < 10

    play(story)


def test_the_server_s_own_fields_are_in_every_answer_to_a_handshake() -> None:
    async def story() -> None:
        async def named(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "websocket.accept", "headers": [(b"Server", b"mine")]})

        for app, status in ((accept_and_echo, 101), (hello, 500)):
            response = await machine_for(app).ask(shake())
            assert status_of(response) == status
            assert response.count(b"\r\nserver: rookery-asgi\r\n") == 1
            assert response.count(b"\r\ndate: ") == 1
        response = await machine_for(named).ask(shake())
        assert b"rookery-asgi" not in response
        assert b"\r\nServer: mine\r\n" in response

    play(story)


def test_websockets_are_logged_when_they_end() -> None:
    async def story() -> None:
        logged: list[Any] = []
        hooks = Hooks(Options(), accept_and_echo, None, log=logged.append)
        machine = Machine(accept_and_echo, hooks=hooks)
        await machine.feed(shake() + masked(0x81, b"five!"))
        assert logged == []
        await machine.feed(masked(0x88, b""))
        machine.conn.take()
        refused = machine.core.connection()
        refused.feed(SHAKE.replace(b"Version: 13", b"Version: 8") + b"\r\n")
        refused.take()
        assert [(line[:3], status, size) for line, status, size, _ in logged] == [
            ((("10.0.0.1", 5000), "GET", b"/chat?x=1"), 101, 5),
            ((None, "GET", b"/chat?x=1"), 426, 0),
        ]

    play(story)


def test_http_goes_on_beside_websockets() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await (
            answer(send, b"http")
            if scope["type"] == "http"
            else accept_and_echo(scope, receive, send)
        )

    async def story() -> None:
        machine = machine_for(app)
        response = await machine.ask(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" + shake())
        assert response.count(b"HTTP/1.1 200 OK") == 1
        assert response.count(b"HTTP/1.1 101 ") == 1
        assert isinstance(machine.conn, _core.Connection)

    play(story)
