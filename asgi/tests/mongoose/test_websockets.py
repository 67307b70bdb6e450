"""WebSockets over the adapter."""

import asyncio
import logging
import threading

import pytest

from rookery_asgi.mongoose.poll import WAITING_MOST
from rookery_asgi.types import Receive, Scope, Send
from tests.apps import chat
from tests.machine import hello, status_of
from tests.mongoose.running import (
    UPGRADE,
    Gate,
    exactly,
    frame,
    read_frame,
    read_until,
    running,
)
from tests.serving import LIMIT_SECONDS, eventually, get, read_all


def test_the_subprotocol_that_the_client_offers_is_in_the_scope_and_the_answer() -> None:
    gate = Gate()
    with running(gate) as server, server.connect() as sock:
        sock.sendall(get("/", *UPGRADE, "Sec-WebSocket-Protocol: chat"))
        assert gate.receive()["type"] == "websocket.connect"
        assert gate.scope["subprotocols"] == ["chat"]
        assert b"Sec-WebSocket-Protocol: chat\r\n" in sock.recv(1000)
        gate.leave()


def test_of_several_subprotocols_mongoose_could_not_choose_so_the_upgrade_is_refused() -> None:
    with running(hello) as server, server.connect() as sock:
        sock.sendall(get("/", *UPGRADE, "Sec-WebSocket-Protocol: chat, superchat"))
        assert status_of(read_all(sock)) == 400


@pytest.mark.parametrize(
    ("change", "status"), [("Version: 13|Version: 8", 426), ("Key: dGhl|Key: dGh", 400)]
)
def test_a_faulty_handshake_is_refused(change: str, status: int) -> None:
    old, new = change.split("|")
    raw = get("/", *UPGRADE).replace(old.encode(), new.encode())
    with running(hello) as server, server.connect() as sock:
        sock.sendall(raw)
        assert status_of(read_all(sock)) == status


def test_without_websockets_an_upgrade_is_an_ordinary_request() -> None:
    with running(hello, ws=False) as server, server.connect() as sock:
        sock.sendall(get("/", *UPGRADE))
        assert sock.recv(1000).startswith(b"HTTP/1.1 200 ")


def test_what_comes_too_late_in_an_accept_is_said_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gate = Gate()
    with caplog.at_level(logging.WARNING), running(gate) as server, server.upgraded():
        gate.receive()
        gate.send({"type": "websocket.accept", "subprotocol": "chat", "headers": [(b"a", b"b")]})
        gate.leave()
    assert "the application chose 'chat'" in caplog.text
    assert "come too late" in caplog.text


def test_the_client_s_close_reaches_the_application_with_code_and_reason() -> None:
    gate = Gate()
    with running(gate) as server, server.upgraded() as sock:
        gate.receive()
        sock.sendall(frame((4002).to_bytes(2) + b"bye", 8))
        message = gate.receive()
        assert (message["code"], message["reason"]) == (4002, "bye")
        assert message["type"] == "websocket.disconnect"
        gate.leave()


def test_a_connection_that_is_lost_is_a_disconnect_with_1006() -> None:
    gate = Gate()
    with running(gate) as server:
        server.upgraded().close()
        gate.receive()
        assert gate.receive()["code"] == 1006
        gate.leave()


async def leaves(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    if scope["path"] == "/raises":
        raise LookupError("on purpose")
    await send({"type": "websocket.accept"})


@pytest.mark.parametrize(("path", "code"), [("/", 1000), ("/raises", 1011)])
def test_a_websocket_that_the_application_leaves_is_closed(path: str, code: int) -> None:
    with running(leaves) as server, server.connect() as sock:
        sock.sendall(get(path, *UPGRADE))
        while b"\r\n\r\n" not in (data := sock.recv(1000)):
            pass
        rest = data.partition(b"\r\n\r\n")[2]
        assert (rest + exactly(sock, 4 - len(rest)))[2:] == code.to_bytes(2)


async def closes_oddly(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    code, reason = (70_000, "") if scope["path"] == "/code" else (1000, "\ud800")
    await send({"type": "websocket.close", "code": code, "reason": reason})


@pytest.mark.parametrize("path", ["/code", "/reason"])
def test_a_close_that_can_not_be_written_fails_in_the_application(path: str) -> None:
    with running(closes_oddly) as server, server.connect() as sock:
        sock.sendall(get(path, *UPGRADE))
        read_until(sock, b"\r\n\r\n")
        assert read_frame(sock) == (8, (1011).to_bytes(2))


def test_bad_utf_8_is_closed_with_1007() -> None:
    with running(chat, lifespan="off") as server, server.upgraded() as sock:
        sock.sendall(frame(b"\xff\xfe"))
        assert read_frame(sock)[1][:2] == (1007).to_bytes(2)


def test_a_message_over_the_limit_is_closed_with_1009() -> None:
    with running(chat, lifespan="off", ws_max_size=10) as server, server.upgraded() as sock:
        sock.sendall(frame(b"x" * 10))
        assert read_frame(sock) == (1, b"x" * 10)
        sock.sendall(frame(b"x" * 11))
        assert read_frame(sock)[1][:2] == (1009).to_bytes(2)


def test_messages_that_nobody_takes_are_closed_with_1008() -> None:
    gate = Gate()
    with running(gate) as server, server.upgraded() as sock:
        assert gate.entered.wait(LIMIT_SECONDS)
        try:
            for _ in range(WAITING_MOST // 400):
                sock.sendall(frame(b"x" * 100))
            sock.sendall(frame(b"x" * 100) * 1000)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert read_frame(sock)[1][:2] == (1008).to_bytes(2)
        gate.leave()


def test_a_websocket_that_nobody_reads_stops_after_its_permits() -> None:
    piece = b"x" * 65536
    sent: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        await send({"type": "websocket.accept"})
        for number in range(1000):
            await send({"type": "websocket.send", "bytes": piece})
            sent.append(number)
        await send({"type": "websocket.close"})

    with running(app) as server, server.upgraded() as sock:
        (peer,) = server.poll._peers.values()
        assert eventually(lambda: peer.conn.send_len > server.server._options.high_water)
        counts = [0, -1]
        while counts[-1] != counts[-2]:
            threading.Event().wait(0.2)
            counts.append(len(sent))
        assert len(sent) < 500
        assert peer.conn.send_len < 32 * len(piece)
        for _ in range(1000):
            assert read_frame(sock) == (2, piece)
        assert read_frame(sock)[0] == 8


def test_pings_whose_answers_are_not_read_end_the_connection() -> None:
    with running(chat, lifespan="off", high_water=1000) as server, server.upgraded() as sock:
        pings = frame(b"p" * 125, 9) * 1000
        sock.settimeout(0.5)
        try:
            for _ in range(1000):
                sock.sendall(pings)
        except (TimeoutError, BrokenPipeError, ConnectionResetError):
            pass
        assert eventually(server.poll.is_quiet)


def test_a_silent_client_is_pinged_and_then_cut_off() -> None:
    options = {"ws_ping_interval": 0.3, "ws_ping_timeout": 0.3}
    with running(chat, lifespan="off", **options) as server, server.upgraded() as sock:
        assert read_frame(sock)[0] == 9
        sock.sendall(frame(b"", 10))
        assert read_frame(sock)[0] == 9
        assert read_all(sock) == b""
        assert eventually(server.poll.is_quiet)


def test_no_pings_are_sent_with_an_interval_of_0() -> None:
    options = {"ws_ping_interval": 0.0, "ws_ping_timeout": 0.1}
    with running(chat, lifespan="off", **options) as server, server.upgraded() as sock:
        sock.settimeout(1.0)
        with pytest.raises(TimeoutError):
            sock.recv(1)


def test_at_the_stop_a_websocket_is_closed_with_1012_and_its_handler_may_finish() -> None:
    finished = threading.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        while (await receive())["type"] != "websocket.disconnect":
            pass
        await asyncio.sleep(0.3)
        finished.set()

    with running(app) as server, server.upgraded() as sock:
        assert eventually(lambda: server.poll._conns)
        server.loop.call_soon_threadsafe(server.server.begin_stop)
        opcode, payload = read_frame(sock)
        assert (opcode, payload[:2]) == (8, (1012).to_bytes(2))
        sock.sendall(frame(payload[:2], 8))
        read_all(sock)
    assert finished.is_set()


def test_fragments_are_joined() -> None:
    with running(chat, lifespan="off") as server, server.upgraded() as sock:
        sock.sendall(b"\x01\x82\0\0\0\0ab" + b"\x80\x82\0\0\0\0cd")
        assert read_frame(sock) == (1, b"abcd")
