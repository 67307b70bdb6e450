"""Clients that do not read: what waits for them is bounded, and all of it comes when they do."""

import asyncio
import contextlib
import signal
import sys
import time

from rookery_asgi.types import Receive, Scope, Send
from tests.machine import GET, Machine, answer, hello, play, settle
from tests.serving import APP, ask, begun, eventually, get, notes, read_all, read_response, serve
from tests.test_frames import masked
from tests.test_ws_session import accept_and_echo, machine_for, shake

HIGH_WATER = 64 * 1024
LAST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def test_no_request_begins_while_answers_wait_to_be_read() -> None:
    async def story() -> None:
        begun = 0

        async def large(scope: Scope, receive: Receive, send: Send) -> None:
            nonlocal begun
            begun += 1
            await answer(send, b"x" * 1_000_000)

        machine = Machine(large)
        await machine.feed(GET * 100)
        assert begun == 1
        received = 0
        while part := machine.conn.take():
            received += part.count(b"HTTP/1.1 200 OK")
            await settle()
        assert (begun, received) == (100, 100)

    play(story)


def test_small_answers_wait_to_be_read_as_large_ones_do() -> None:
    async def story() -> None:
        machine = Machine(hello)
        await machine.feed(GET * 5000)
        assert machine.conn.buffered < HIGH_WATER + 1000
        received = 0
        while part := machine.conn.take():
            received += part.count(b"HTTP/1.1 200 OK")
            await settle()
        assert received == 5000

    play(story)


def test_a_client_that_closed_its_side_gets_all_that_it_asked_for() -> None:
    async def story() -> None:
        machine = Machine(hello)
        await machine.feed(GET * 3000)
        machine.conn.feed_eof()
        received = 0
        while part := machine.conn.take():
            received += part.count(b"HTTP/1.1 200 OK")
            await settle()
        assert received == 3000
        assert not machine.conn.open

    play(story)


def test_pipelined_requests_take_no_memory_while_their_answers_are_not_read() -> None:
    with serve(APP) as served, served.connect() as sock:
        ask(served, "/megabyte")
        before = served.memory()
        sock.sendall(get("/megabyte") * 400 + LAST)
        assert eventually(lambda: notes(served)["begun"] >= 2)
        time.sleep(0.5)
        assert served.memory() - before < 20_000_000
        assert read_all(sock).count(b"HTTP/1.1 200 OK") == 401


def test_a_slow_reader_is_not_idle() -> None:
    with serve(APP, "--timeout-keep-alive", "0.3") as served, served.connect() as sock:
        sock.sendall(get("/megabyte?20"))
        assert begun(served, 1)
        time.sleep(1.2)
        assert len(read_response(sock)) > 20_000_000
        assert sock.recv(10) == b""


def test_a_stop_lets_a_slow_reader_read_to_the_end() -> None:
    with serve(APP) as served, served.connect() as sock:
        sock.sendall(get("/megabyte?20"))
        assert begun(served, 1)
        served.signal(signal.SIGTERM)
        assert eventually(lambda: "stopping" in served.log)
        assert len(read_response(sock)) > 20_000_000
        assert served.wait() == 0


def test_of_pings_that_are_not_read_the_last_is_answered() -> None:
    async def story() -> None:
        machine = machine_for(accept_and_echo)
        await machine.feed(shake())
        machine.conn.take()
        for at in range(2000):
            machine.conn.feed(masked(0x89, b"%0125d" % at))
        assert machine.conn.buffered < HIGH_WATER + 1000
        machine.conn.take()
        assert machine.conn.take() == b"\x8a\x7d" + b"%0125d" % 1999

    play(story)


def test_pings_take_no_memory_while_their_pongs_are_not_read() -> None:
    with serve(APP) as served, served.connect() as sock:
        sock.sendall(shake())
        read_response(sock)
        before = served.memory()
        sock.settimeout(1)
        with contextlib.suppress(TimeoutError):
            for _ in range(500):
                sock.sendall(masked(0x89, b"p" * 125) * 1000)
        assert served.memory() - before < 20_000_000


def test_senders_go_on_when_a_reader_that_pings_has_read() -> None:
    with serve("tests.apps:two_senders") as served, served.connect() as sock:
        sock.sendall(shake())
        total, tail = 0, b""
        while b"\x81\x04done" not in tail:
            part = sock.recv(4096)
            assert part
            sock.sendall(masked(0x89, b""))
            total += len(part)
            tail = tail[-10:] + part
        assert total > 20 * 300_000


def test_empty_messages_are_counted_by_what_they_take() -> None:
    async def story() -> None:
        async def deaf(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "websocket.accept"})
            await asyncio.sleep(3600)

        machine = machine_for(deaf)
        await machine.feed(shake())
        (session,) = machine.hooks.sessions
        for _ in range(HIGH_WATER // 300 + 2):
            machine.conn.feed(masked(0x81, b""))
        assert machine.conn.held
        session.task.cancel()

    play(story)


def test_one_read_of_empty_messages_is_not_queued_whole() -> None:
    async def story() -> None:
        listen = asyncio.Event()
        received = 0

        async def late(scope: Scope, receive: Receive, send: Send) -> None:
            nonlocal received
            await receive()
            await send({"type": "websocket.accept"})
            await listen.wait()
            while (await receive())["type"] == "websocket.receive":
                received += 1

        machine = machine_for(late)
        await machine.feed(shake())
        before = sys.getallocatedblocks()
        await machine.feed(masked(0x81, b"") * 20_000 + masked(0x88, b""))
        assert sys.getallocatedblocks() - before < 20_000
        listen.set()
        while machine.conn.open:
            machine.conn.take()
            await settle()
        assert received == 20_000

    play(story)
