"""Each statement of the published description of the adapter, in its order (docs/adapter.md)."""

import asyncio
import concurrent.futures
import gc
import json
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable

import cymongoose as mg
import pytest

from rookery_asgi.mongoose import wakeups
from rookery_asgi.mongoose.line import _STREAM_CONCURRENCY
from rookery_asgi.mongoose.responses import _format_chunked_header
from rookery_asgi.mongoose.server import LIFESPAN_STOP_SECONDS
from rookery_asgi.mongoose.state import _ConnState
from rookery_asgi.mongoose.wakeups import _WAKEUP_MAX_BYTES
from rookery_asgi.types import Message, Receive, Scope, Send
from tests.machine import answer, body_of, hello, read_body
from tests.mongoose.running import (
    START,
    Gate,
    Running,
    body,
    chunks_of,
    exactly,
    frame,
    header,
    read_frame,
    read_until,
    running,
    stalled,
)
from tests.serving import LIMIT_SECONDS, eventually, get, read_all

SMALL = b"s" * 100
LARGE = b"l" * (_WAKEUP_MAX_BYTES + 1)


# Architecture


def test_mongoose_polls_in_one_background_thread() -> None:
    with running(hello) as server:
        threads = [thread for thread in threading.enumerate() if thread.name == "mongoose"]
        assert len(threads) == 1
        assert threads[0].daemon
        assert server.poll._thread is threads[0]


def test_http_events_become_receive_messages_in_the_queue_of_the_connection() -> None:
    gate = Gate()
    with running(gate) as server, server.connect() as sock:
        sock.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
        assert gate.entered.wait(LIMIT_SECONDS)
        assert isinstance(server.state.receive_queue, asyncio.Queue)
        assert gate.receive() == {"type": "http.request", "body": b"abc", "more_body": False}
        gate.send(START)
        gate.send(body())
        gate.leave()


def test_websocket_events_become_receive_messages_in_the_queue_of_the_connection() -> None:
    gate = Gate()
    with running(gate) as server, server.upgraded() as sock:
        assert gate.receive() == {"type": "websocket.connect"}
        sock.sendall(frame(b"hi") + frame(b"\xff", 2))
        assert gate.receive() == {"type": "websocket.receive", "text": "hi"}
        assert gate.receive() == {"type": "websocket.receive", "bytes": b"\xff"}
        gate.leave()


def test_messages_are_pushed_by_call_soon_threadsafe() -> None:
    gate = Gate()
    with running(gate) as server, server.upgraded() as sock:
        gate.receive()
        called: list[Callable[..., object]] = []
        real = server.loop.call_soon_threadsafe

        def note(callback: Callable[..., object], *given: object) -> object:
            called.append(callback)
            return real(callback, *given)

        server.loop.call_soon_threadsafe = note  # type: ignore[assignment]
        sock.sendall(frame(b"hi"))
        assert eventually(lambda: called)
        assert called[0] == server.state.receive_queue.put_nowait
        del server.loop.call_soon_threadsafe
        gate.leave()


def test_the_application_runs_on_the_asyncio_thread() -> None:
    gate = Gate()
    with running(gate) as server, server.connect() as sock:
        sock.sendall(get("/"))
        assert gate.entered.wait(LIMIT_SECONDS)
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        assert names[gate.thread] == "asyncio"
        gate.leave()


def test_send_routes_the_response_back_by_wakeup() -> None:
    with running(hello) as server:
        assert body_of(server.ask()) == b"hello"
        (posted,) = server.posted
        assert json.loads(posted[1:])["body"] == "hello"


def test_no_thread_pool_is_needed_for_the_application() -> None:
    with running(hello) as server:
        before = {thread.name for thread in threading.enumerate()}
        for _ in range(5):
            server.ask()
        assert {thread.name for thread in threading.enumerate()} == before
        assert {"asyncio", "mongoose"} <= before


# Wakeup message types


async def answers(scope: Scope, receive: Receive, send: Send) -> None:
    """What the path says: in one piece or streamed, small or large."""
    if scope["type"] == "websocket":
        await converses(scope, receive, send)
        return
    size = LARGE if "large" in scope["path"] else SMALL
    headers = [(b"content-type", b"text/plain"), (b"x-long", LARGE)]
    start = {**START, "headers": headers if "head" in scope["path"] else START["headers"]}
    await send(start)
    if scope["path"].startswith("/stream"):
        await send(body(size, more=True))
        await send(body())
    else:
        await send(body(size))


async def converses(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        size = LARGE if message["text"] == "large" else SMALL
        await send({"type": "websocket.send", "bytes": size})
        await send({"type": "websocket.close", "code": 4001, "reason": "done"})


def test_wakeup_R_is_a_response_inline_as_json() -> None:  # noqa: N802
    with running(answers) as server:
        assert body_of(server.ask("/")) == SMALL
        assert server.kinds == "R"
        fields = json.loads(server.posted[0][1:])
        assert (fields["status"], fields["body"]) == (200, SMALL.decode())


def test_wakeup_r_is_a_response_in_the_stash_under_a_uuid() -> None:
    with running(answers) as server:
        assert body_of(server.ask("/large")) == LARGE
        assert server.kinds == "r"
        assert str(uuid.UUID(server.posted[0][1:].decode()))


def test_wakeup_W_is_a_websocket_frame_inline_as_json() -> None:  # noqa: N802
    with running(answers) as server, server.upgraded() as sock:
        sock.sendall(frame(b"small"))
        assert read_frame(sock) == (2, SMALL)
        assert server.kinds.startswith("W")
        assert json.loads(server.posted[0][1:]) == {"bytes": SMALL.decode()}


def test_wakeup_w_is_a_websocket_frame_in_the_stash_under_a_uuid() -> None:
    with running(answers) as server, server.upgraded() as sock:
        sock.sendall(frame(b"large"))
        assert read_frame(sock) == (2, LARGE)
        assert server.kinds.startswith("w")
        assert str(uuid.UUID(server.posted[0][1:].decode()))


def test_wakeup_X_closes_the_websocket_and_is_empty() -> None:  # noqa: N802
    with running(answers) as server, server.upgraded() as sock:
        sock.sendall(frame(b"small"))
        read_frame(sock)
        assert read_frame(sock) == (8, (4001).to_bytes(2) + b"done")
        assert server.posted[-1] == b"X"


def test_wakeup_S_is_a_stream_header_inline_as_it_is_written() -> None:  # noqa: N802
    with running(answers) as server:
        response = server.ask("/stream")
        assert server.kinds.startswith("S")
        assert response.startswith(server.posted[0][1:])
        assert server.posted[0].endswith(b"\r\n\r\n")


def test_wakeup_s_is_a_stream_header_in_the_stash() -> None:
    with running(answers) as server:
        response = server.ask("/stream-head")
        assert server.kinds.startswith("s")
        assert str(uuid.UUID(server.posted[0][1:].decode()))
        assert header(response, "x-long") == [LARGE.decode()]


def test_wakeup_C_is_a_chunk_inline() -> None:  # noqa: N802
    with running(answers) as server:
        assert chunks_of(body_of(server.ask("/stream"))) == [SMALL, b""]
        assert server.posted[1] == b"C" + SMALL


def test_wakeup_c_is_a_chunk_in_the_stash() -> None:
    with running(answers) as server:
        assert chunks_of(body_of(server.ask("/stream-large"))) == [LARGE, b""]
        assert server.kinds == "ScE"
        assert str(uuid.UUID(server.posted[1][1:].decode()))


def test_wakeup_E_ends_the_stream_with_the_empty_chunk_and_is_empty() -> None:  # noqa: N802
    with running(answers) as server:
        assert server.ask("/stream").endswith(b"\r\n0\r\n\r\n")
        assert server.posted[-1] == b"E"


def test_a_payload_of_8_kb_goes_inline_and_one_byte_more_into_the_stash() -> None:
    posted: list[bytes] = []
    sender = wakeups.Wakeups(lambda _, data: posted.append(data))
    sender.opened(1)
    sender.send(1, wakeups.STREAM_CHUNK, LARGE[:-1])
    assert (posted[0], sender._stash) == (b"C" + LARGE[:-1], {})
    assert sender.take(1, posted[0]) == (b"C", LARGE[:-1])
    sender.send(1, wakeups.STREAM_CHUNK, LARGE)
    key = posted[1][1:].decode()
    assert sender._stash == {key: LARGE}
    assert len(posted[1]) == 1 + len(str(uuid.UUID(key)))
    assert sender.take(1, posted[1]) == (b"C", LARGE)
    assert sender._stash == {}
    assert _WAKEUP_MAX_BYTES == 8 * 1024


# Per-connection state


def test_each_active_connection_has_a_state_under_its_id() -> None:
    gate = Gate()
    with running(gate) as server, server.connect() as sock:
        assert server.poll._conns == {}
        sock.sendall(get("/"))
        assert gate.entered.wait(LIMIT_SECONDS)
        ((conn_id, state),) = server.poll._conns.items()
        assert isinstance(state, _ConnState)
        assert server.poll._peers[conn_id].conn.id == conn_id
        gate.leave()


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_the_state_holds_the_scope_that_the_application_gets(kind: str) -> None:
    gate = Gate()
    with running(gate) as server:
        sock = server.connect() if kind == "http" else server.upgraded()
        with sock:
            if kind == "http":
                sock.sendall(get("/"))
            assert gate.entered.wait(LIMIT_SECONDS)
            assert server.state.scope is gate.scope
            assert gate.scope["type"] == kind
            gate.leave()


def test_the_task_is_the_concurrent_future_that_runs_the_application() -> None:
    gate = Gate()
    with running(gate) as server, server.connect() as sock:
        sock.sendall(get("/"))
        assert gate.entered.wait(LIMIT_SECONDS)
        assert eventually(lambda: server.state.task is not None)
        task = server.state.task
        assert isinstance(task, concurrent.futures.Future)
        assert task.running() or not task.done()
        gate.leave()
        task.result(LIMIT_SECONDS)


def test_ws_accepted_says_whether_the_application_has_accepted() -> None:
    gate = Gate()
    with running(gate) as server, server.upgraded():
        gate.receive()
        assert not server.state.ws_accepted
        gate.send({"type": "websocket.accept"})
        assert eventually(lambda: server.state.ws_accepted)
        gate.leave()


def test_response_started_says_whether_the_start_was_received() -> None:
    gate = Gate()
    with running(gate) as server, server.connect() as sock:
        sock.sendall(get("/"))
        assert gate.entered.wait(LIMIT_SECONDS)
        assert not server.state.response_started
        gate.send(START)
        assert eventually(lambda: server.state.response_started)
        gate.leave()


def test_streaming_and_its_semaphore_begin_with_the_first_more_body() -> None:
    gate = Gate()
    with running(gate) as server, server.connect() as sock:
        sock.sendall(get("/"))
        gate.send(START)
        state = server.state
        assert (state.streaming, state.stream_sem) == (False, None)
        gate.send(body(b"a", more=True))
        assert state.streaming
        assert isinstance(state.stream_sem, asyncio.Semaphore)
        gate.send(body())
        gate.leave()


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_closed_connection_is_dropped_and_its_application_told(kind: str) -> None:
    gate = Gate()
    with running(gate) as server:
        sock = server.connect() if kind == "http" else server.upgraded()
        if kind == "http":
            sock.sendall(get("/"))
        first = gate.receive()["type"]
        assert first in ("http.request", "websocket.connect")
        sock.close()
        assert gate.receive()["type"] == f"{kind}.disconnect"
        assert server.poll._conns == {}
        gate.leave()


def test_an_application_that_is_told_can_exit_cleanly() -> None:
    ended = threading.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        ended.set()

    with running(app, lifespan="off") as server:
        with server.connect() as sock:
            sock.sendall(get("/"))
            assert eventually(lambda: server.poll._conns)
        assert ended.wait(LIMIT_SECONDS)
        assert eventually(lambda: not server.server._tasks)


# WebSocket upgrade


def polled(handler: Callable[[mg.Connection, int, object], None], request: bytes) -> None:
    """cymongoose itself, without the adapter, until the request has been handled."""
    manager = mg.Manager()
    seen: list[int] = []

    def handle(conn: mg.Connection, event: int, data: object) -> None:
        handler(conn, event, data)
        if event == mg.MG_EV_HTTP_MSG:
            seen.append(event)

    address = manager.listen("http://127.0.0.1:0", handler=handle).local_addr
    assert address is not None
    with socket.create_connection(address[:2]) as sock:
        sock.sendall(request)
        while not seen:
            manager.poll(10)
    manager.close()


def test_a_message_view_is_invalid_after_its_handler_has_returned() -> None:
    kept: list[mg.HttpMessage] = []
    valid: list[bool] = []

    def handler(conn: mg.Connection, event: int, data: object) -> None:
        if isinstance(data, mg.HttpMessage) and event == mg.MG_EV_HTTP_MSG:
            kept.append(data)
            valid.append(bool(data))

    polled(handler, get("/"))
    assert valid == [True]
    assert not kept[0]


def test_an_upgrade_can_not_be_deferred() -> None:
    kept: list[tuple[mg.Connection, mg.HttpMessage]] = []
    refused: list[str] = []

    def handler(conn: mg.Connection, event: int, data: object) -> None:
        if event == mg.MG_EV_HTTP_MSG and isinstance(data, mg.HttpMessage):
            kept.append((conn, data))
        elif event == mg.MG_EV_READ and kept:
            with pytest.raises(ValueError, match="not valid") as caught:
                kept[0][0].ws_upgrade(kept[0][1])
            refused.append(str(caught.value))

    polled(handler, get("/"))
    assert refused


def test_a_websocket_is_upgraded_before_the_application_answers() -> None:
    gate = Gate()
    with running(gate) as server, server.upgraded():
        assert gate.receive() == {"type": "websocket.connect"}
        assert not server.state.ws_accepted
        gate.leave()


def test_accept_sends_nothing_to_mongoose() -> None:
    gate = Gate()
    with running(gate) as server, server.upgraded():
        gate.receive()
        gate.send({"type": "websocket.accept"})
        assert server.posted == []
        gate.leave()


def test_connect_accept_and_messages_proceed_normally() -> None:
    gate = Gate()
    with running(gate) as server, server.upgraded() as sock:
        assert gate.receive()["type"] == "websocket.connect"
        gate.send({"type": "websocket.accept"})
        sock.sendall(frame(b"ask"))
        assert gate.receive()["text"] == "ask"
        gate.send({"type": "websocket.send", "text": "answer"})
        assert read_frame(sock) == (1, b"answer")
        gate.leave()


# Thread safety


def test_queues_are_filled_and_read_on_the_asyncio_thread() -> None:
    gate = Gate()
    with running(gate) as server, server.upgraded() as sock:
        gate.receive()
        threads: list[int] = []
        queue = server.state.receive_queue
        put = queue.put_nowait

        def note(message: Message) -> None:
            threads.append(threading.get_ident())
            put(message)

        queue.put_nowait = note  # type: ignore[method-assign, assignment]
        sock.sendall(frame(b"hi"))
        assert gate.receive()["text"] == "hi"
        assert threads == [gate.thread]
        del queue.put_nowait
        gate.leave()


def test_conns_is_a_plain_dict_that_both_threads_use_without_a_lock() -> None:
    with running(hello) as server:
        seen: list[int] = []
        reading = threading.Event()

        async def read() -> None:
            while not reading.is_set():
                seen.append(sum(1 for _ in server.poll._conns.copy()))
                await asyncio.sleep(0)

        done = asyncio.run_coroutine_threadsafe(read(), server.loop)
        for _ in range(100):
            assert body_of(server.ask()) == b"hello"
        reading.set()
        done.result(LIMIT_SECONDS)
        assert type(server.poll._conns) is dict
        assert seen


def test_the_stash_is_used_under_its_lock_alone() -> None:
    with running(answers) as server, server.connect() as sock:
        with server.poll.wakeups._stash_lock:
            sock.sendall(get("/large", "Connection: close"))
            sock.settimeout(0.2)
            with pytest.raises(TimeoutError):
                sock.recv(1)
            assert server.posted == []
        sock.settimeout(LIMIT_SECONDS)
        assert LARGE in read_all(sock)
        assert server.poll.wakeups._stash == {}


# Lifespan


class Life:
    """An application that takes part in lifespan, as slowly as the test wants."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.go_on = asyncio.Event()
        self.task: asyncio.Task[object] | None = None
        self.cancelled = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await answer(send, b"hello")
            return
        self.task = asyncio.current_task()
        self.events.append((await receive())["type"])
        await self.go_on.wait()
        await send({"type": "lifespan.startup.complete"})
        self.events.append((await receive())["type"])
        await send({"type": "lifespan.shutdown.complete"})
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            self.cancelled = True
            raise


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def can_connect(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


async def lived(app: Life) -> None:
    """One life of a server; what is asserted on the way are the statements."""
    from rookery_asgi.mongoose.server import Server
    from rookery_asgi.options import Options

    port = free_port()
    server = Server(app, Options(port=port, access_log=False))
    starting = asyncio.create_task(server.start())
    while not app.events:
        await asyncio.sleep(0)
    assert isinstance(app.task, asyncio.Task)
    assert app.events == ["lifespan.startup"]
    assert not starting.done()
    assert not can_connect(port)
    app.go_on.set()
    await starting
    assert can_connect(port)
    assert await server.stop()


def test_start_runs_the_lifespan_in_a_task_and_waits_for_it_before_binding() -> None:
    app = Life()
    asyncio.run(lived(app))
    assert app.events[0] == "lifespan.startup"


def test_stop_pushes_the_shutdown_and_then_cancels_the_task() -> None:
    app = Life()
    asyncio.run(lived(app))
    assert app.events == ["lifespan.startup", "lifespan.shutdown"]
    assert app.cancelled


def test_a_failed_start_up_stops_the_server_before_it_binds() -> None:
    from rookery_asgi.errors import StartupFailed
    from rookery_asgi.mongoose.server import Server
    from rookery_asgi.options import Options

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    async def story() -> None:
        port = free_port()
        with pytest.raises(StartupFailed, match="no database"):
            await Server(app, Options(port=port, access_log=False)).start()
        assert not can_connect(port)

    asyncio.run(story())


def test_stop_waits_five_seconds_for_the_application() -> None:
    waits: list[float] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        waits.append(time.monotonic())
        try:
            await asyncio.sleep(3600)
        finally:
            waits.append(time.monotonic())

    with running(app):
        pass
    began, ended = waits
    assert LIFESPAN_STOP_SECONDS == 5
    assert ended - began >= LIFESPAN_STOP_SECONDS


async def raises(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        raise LookupError("what is a lifespan?")
    await answer(send, b"hello")


async def returns(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await answer(send, b"hello")


@pytest.mark.parametrize("app", [raises, returns])
def test_an_application_that_knows_no_lifespan_is_served_without_it(app: Gate) -> None:
    with running(app) as server:
        assert not server.server._lifespan_supported
        assert body_of(server.ask()) == b"hello"


# Streaming


def streamed(*pieces: bytes) -> tuple[Running, bytes]:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await send(START)
            for piece in pieces[:-1]:
                await send(body(piece, more=True))
            await send(body(pieces[-1]))

    with running(app) as server:
        return server, server.ask()


def test_the_first_more_body_sends_a_chunked_header_and_then_the_chunk() -> None:
    server, response = streamed(b"one", b"")
    assert server.kinds == "SCE"
    assert header(response, "transfer-encoding") == ["chunked"]
    assert header(response, "content-length") == []
    raw = _format_chunked_header(200, [(b"a", b"b")], keep_alive=True)
    assert raw == b"HTTP/1.1 200 OK\r\na: b\r\ntransfer-encoding: chunked\r\n\r\n"


def test_each_further_body_is_a_chunk_and_empty_ones_are_skipped() -> None:
    server, response = streamed(b"one", b"", b"two", b"", b"three", b"")
    assert server.kinds == "SCCCE"
    assert chunks_of(body_of(response)) == [b"one", b"two", b"three", b""]


def test_a_last_body_that_is_not_empty_is_sent_before_the_end() -> None:
    server, response = streamed(b"one", b"last")
    assert server.kinds == "SCCE"
    assert chunks_of(body_of(response)) == [b"one", b"last", b""]


def test_more_body_that_is_left_out_is_the_end() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await send(START)
            await send(body(b"one", more=True))
            await send({"type": "http.response.body", "body": b"two"})

    with running(app) as server:
        assert chunks_of(body_of(server.ask())) == [b"one", b"two", b""]
        assert server.posted[-1] == b"E"


def test_a_response_without_more_body_takes_the_buffered_path() -> None:
    server, response = streamed(b"whole")
    assert server.kinds == "R"
    fields = json.loads(server.posted[0][1:])
    assert fields["headers"][0] == ["content-type", "text/plain"]
    assert re.search(rb"(?i)content-length: +5\b", response)


# Back-pressure


def test_a_stream_has_sixteen_permits() -> None:
    gate = Gate()
    with running(gate) as server, server.connect() as sock:
        sock.sendall(get("/"))
        gate.send(START)
        gate.send(body(b"a", more=True))
        semaphore = server.state.stream_sem
        assert semaphore is not None
        assert eventually(lambda: semaphore._value == 16)
        assert _STREAM_CONCURRENCY == 16
        gate.send(body())
        gate.leave()


def test_a_permit_is_taken_for_the_header_and_for_each_chunk() -> None:
    gate = Gate()
    with running(gate) as server, server.connect() as sock:
        sock.sendall(get("/"))
        gate.send(START)
        state = server.state
        with stalled(server.poll):
            gate.send(body(b"a", more=True))
            assert state.stream_sem is not None
            assert state.stream_sem._value == 14
            gate.send(body(b"b", more=True))
            assert state.stream_sem._value == 13
        gate.send(body())
        gate.leave()


def test_send_waits_while_sixteen_wakeups_are_under_way_and_goes_on_when_they_are_handled() -> None:
    gate = Gate()
    with running(gate) as server, server.connect() as sock:
        sock.sendall(get("/"))
        gate.send(START)
        with stalled(server.poll):
            gate.begin(*[body(b"x", more=True)] * 40, body())
            assert eventually(lambda: len(server.posted) == 16)
            assert server.kinds == "S" + 15 * "C"
            # the start needs no permit; the coroutine waits with its sixteenth chunk
            assert gate.sent == 1 + 15
        assert read_until(sock, b"\r\n0\r\n\r\n").count(b"\r\nx") == 40
        gate.leave()


def test_a_permit_comes_back_by_call_soon_threadsafe_once_the_wakeup_was_handled() -> None:
    gate = Gate()
    with running(gate) as server, server.connect() as sock:
        sock.sendall(get("/"))
        gate.send(START)
        with stalled(server.poll):
            gate.send(body(b"a", more=True))
            semaphore = server.state.stream_sem
            assert semaphore is not None
            threads: list[int] = []
            real = semaphore.release

            def note() -> None:
                threads.append(threading.get_ident())
                real()

            semaphore.release = note  # type: ignore[method-assign]
        assert eventually(lambda: len(threads) == 2)
        assert set(threads) == {gate.thread}
        del semaphore.release
        gate.send(body())
        gate.leave()


def test_the_end_of_a_stream_takes_no_permit() -> None:
    gate = Gate()
    with running(gate) as server, server.connect() as sock:
        sock.sendall(get("/"))
        gate.send(START)
        with stalled(server.poll):
            for _ in range(15):
                gate.send(body(b"x", more=True))
            semaphore = server.state.stream_sem
            assert semaphore is not None
            assert semaphore._value == 0
            gate.send(body())
            assert server.kinds.endswith("E")
        assert read_until(sock, b"\r\n0\r\n\r\n")
        gate.leave()


# Known limitations


def test_an_application_can_not_prevent_the_upgrade_only_close_after_it() -> None:
    gate = Gate()
    with running(gate) as server, server.upgraded() as sock:
        gate.receive()
        gate.send({"type": "websocket.close"})
        opcode, payload = read_frame(sock)
        assert (opcode, int.from_bytes(payload[:2])) == (8, 1008)
        gate.leave()


def test_bodies_pass_through_json_as_latin_1_and_keep_every_byte() -> None:
    every = bytes(range(256))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await answer(send, await read_body(receive))

    with running(app) as server, server.connect() as sock:
        sock.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 256\r\n\r\n" + every)
        assert read_until(sock, b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
        assert exactly(sock, 5 + 256) == b"100\r\n" + every
        assert json.loads(server.posted[0][1:])["body"].encode("latin-1") == every
    gc.collect()
