"""HTTP over the adapter: what is better than with `reply()` alone, and where the limits are."""

import asyncio
import json
import socket
import threading
from typing import Any

import pytest

from rookery_asgi.mongoose.poll import MESSAGE_MOST
from rookery_asgi.types import Receive, Scope, Send
from tests.machine import answer, body_of, hello, read_body, status_of
from tests.mongoose.running import START, body, header, read_until, running
from tests.serving import LIMIT_SECONDS, eventually, get, read_all, read_response

PIECES = 1000
PLAIN = [(b"content-type", b"text/plain")]


class Noting:
    """Echoes, and notes what reaches it."""

    def __init__(self, **response: Any) -> None:
        self.scopes: list[Scope] = []
        self.bodies: list[bytes] = []
        self._response = response

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        self.scopes.append(scope)
        self.bodies.append(await read_body(receive))
        await answer(send, **{"body": self.bodies[-1], "headers": PLAIN, **self._response})


def post(data: bytes, *headers: str) -> bytes:
    return (
        "\r\n".join(
            ["POST / HTTP/1.1", "Host: a", f"Content-Length: {len(data)}", *headers, "", ""]
        )
    ).encode() + data


def test_a_connection_stays_open_for_further_requests() -> None:
    with running(Noting()) as server, server.connect() as sock:
        for word in (b"one", b"two", b"three"):
            sock.sendall(post(word))
            assert body_of(read_response(sock)) == word


def test_pipelined_requests_are_answered_in_order() -> None:
    with running(Noting()) as server, server.connect() as sock:
        sock.sendall(post(b"one") + post(b"two") + post(b"three", "Connection: close"))
        found = read_all(sock)
        assert found.count(b"HTTP/1.1 200 ") == 3
        assert found.index(b"one") < found.index(b"two") < found.index(b"three")


def test_an_application_may_end_the_connection_in_capitals() -> None:
    ending = [*PLAIN, (b"connection", b"Close")]
    with running(Noting(headers=ending, body=b"x")) as server, server.connect() as sock:
        sock.sendall(get("/"))
        assert header(read_all(sock), "connection") == ["close"]


def test_an_order_that_fails_does_not_end_the_poll_thread() -> None:
    def fail() -> None:
        raise LookupError("on purpose")

    with running(Noting()) as server:
        server.poll.order(fail)
        assert server.ask().startswith(b"HTTP/1.1 200 ")


def test_repeated_headers_are_all_sent() -> None:
    cookies = [*PLAIN, (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]
    with running(Noting(headers=cookies, body=b"x")) as server, server.connect() as sock:
        sock.sendall(get("/") + get("/", "Connection: close"))
        assert header(read_all(sock), "set-cookie") == ["a=1", "b=2"]


def test_a_body_is_not_cut_at_a_nul_and_the_connection_stays_open() -> None:
    with running(Noting(body=b"a\0b")) as server, server.connect() as sock:
        for _ in range(2):
            sock.sendall(get("/"))
            assert read_until(sock, b"\r\n0\r\n\r\n").endswith(b"3\r\na\0b\r\n0\r\n\r\n")


def test_no_content_type_is_invented() -> None:
    with running(Noting(headers=[], body=b"x")) as server:
        assert header(server.ask(), "content-type") == []


@pytest.mark.parametrize(("status", "length"), [(204, []), (304, [])])
def test_what_has_no_body_gets_neither_body_nor_length(status: int, length: list[str]) -> None:
    with running(Noting(status=status, body=b"")) as server:
        response = server.ask()
        assert status_of(response) == status
        assert body_of(response) == b""
        assert header(response, "content-length") == length


def test_head_gets_the_length_and_no_body_and_ends_the_connection() -> None:
    headers = [*PLAIN, (b"content-length", b"5")]
    with running(Noting(headers=headers, body=b"hello")) as server, server.connect() as sock:
        sock.sendall(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
        response = read_all(sock)
        assert header(response, "content-length") == ["5"]
        assert header(response, "connection") == ["close"]
        assert body_of(response) == b""


def test_http_1_0_gets_a_length_and_the_end() -> None:
    with running(Noting(body=b"hello")) as server, server.connect() as sock:
        sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
        response = read_all(sock)
        assert header(response, "content-length") == ["5"]
        assert body_of(response) == b"hello"


def test_a_stream_to_http_1_0_is_not_chunked() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await send(START)
            await send(body(b"one ", more=True))
            await send(body(b"two"))

    with running(app) as server, server.connect() as sock:
        sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
        response = read_all(sock)
        assert header(response, "transfer-encoding") == []
        assert body_of(response) == b"one two"


def test_date_and_server_are_added_unless_switched_off() -> None:
    with running(hello) as server:
        response = server.ask()
        assert header(response, "server") == ["rookery-asgi"]
        assert header(response, "date")
    with running(hello, date_header=False, server_header=False) as server:
        response = server.ask()
        assert header(response, "server") == header(response, "date") == []


def test_the_scope_is_what_the_client_sent() -> None:
    app = Noting()
    with running(app, root_path="/deep") as server:
        server.ask("/a%20b/%C3%A9?q=%31", "X-Raw: \xe9\x80".encode("latin-1").decode("latin-1"))
    (scope,) = app.scopes
    assert scope["path"] == "/deep/a b/é"
    assert scope["raw_path"] == b"/deep/a%20b/%C3%A9"
    assert scope["query_string"] == b"q=%31"
    assert scope["root_path"] == "/deep"
    assert (scope["method"], scope["http_version"], scope["scheme"]) == ("GET", "1.1", "http")
    assert scope["server"] == tuple(server.server.addresses[0])
    assert scope["client"][0] == "127.0.0.1"
    assert (b"x-raw", "é\x80".encode()) in scope["headers"]


def test_scopes_share_nothing() -> None:
    app = Noting()
    with running(app) as server:
        server.ask()
        server.ask()
    first, second = app.scopes
    for key in ("asgi", "extensions", "state"):
        assert first[key] is not second[key]


def test_forwarded_headers_of_a_trusted_proxy_count() -> None:
    app = Noting()
    with running(app) as server:
        server.ask("/", "X-Forwarded-For: 10.1.2.3", "X-Forwarded-Proto: https")
    with running(app, proxy_headers=False) as server:
        server.ask("/", "X-Forwarded-For: 10.1.2.3", "X-Forwarded-Proto: https")
    believed, not_believed = app.scopes
    assert (believed["client"], believed["scheme"]) == (("10.1.2.3", 0), "https")
    assert (not_believed["client"][0], not_believed["scheme"]) == ("127.0.0.1", "http")


def test_a_chunked_body_is_joined() -> None:
    with running(Noting()) as server, server.connect() as sock:
        sock.sendall(
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        )
        assert body_of(read_response(sock)) == b"abcde"


def test_100_continue_is_sent_when_the_body_is_waited_for() -> None:
    with running(Noting()) as server, server.connect() as sock:
        whole = post(b"abc", "Expect: 100-continue")
        sock.sendall(whole[:-3])
        assert read_until(sock, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(whole[-3:])
        assert body_of(read_response(sock)) == b"abc"


def test_a_request_that_was_cut_off_never_reaches_the_application() -> None:
    app = Noting()
    with running(app) as server:
        with server.connect() as sock:
            sock.sendall(post(b"abcdef")[:-3])
            assert eventually(lambda: server.poll._peers)
        assert eventually(server.poll.is_quiet)
        server.ask()
    assert app.bodies == [b""]


def test_a_post_without_a_length_ends_the_connection_so_that_nothing_is_swallowed() -> None:
    app = Noting()
    with running(app) as server, server.connect() as sock:
        sock.sendall(b"POST / HTTP/1.1\r\nHost: a\r\n\r\n" + get("/second"))
        response = read_all(sock)
        assert response.count(b"HTTP/1.1 ") == 1
        assert header(response, "connection") == ["close"]
    assert len(app.scopes) == 1


REFUSED = {
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    "bare line feeds": (b"GET / HTTP/1.1\nHost: a\n\n", 400),
    "a line feed within": (b"GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", 400),
    "no HTTP": (b"hello\r\n\r\n", 400),
    "a space in a name": (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
    "length and chunks": (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        400,
    ),
    "two cookies": (b"GET / HTTP/1.1\r\nHost: a\r\nCookie: a=1\r\nCookie: b=2\r\n\r\n", 400),
    "no target": (b"GET example HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "a signed length": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na", 400),
    "31 headers": (get("/", *[f"X-{i}: y" for i in range(30)]), 431),
    "a long line": (get("/" + "a" * 20_000), 414),
    "a long head": (get("/", "X: " + "a" * 70_000), 431),
    "a long body": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n", 413),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_served_is_refused_with_a_status(name: str) -> None:
    raw, status = REFUSED[name]
    app = Noting()
    with running(app) as server, server.connect() as sock:
        sock.sendall(raw)
        response = read_all(sock)
        assert status_of(response) == status, response
        assert header(response, "connection") == ["close"]
        assert header(response, "date")
    assert app.scopes == []


@pytest.mark.parametrize("raw", [b"gzip", b"chunked, gzip"])
def test_other_transfer_encodings_end_the_connection(raw: bytes) -> None:
    app = Noting()
    with running(app) as server, server.connect() as sock:
        sock.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " + raw + b"\r\n\r\n")
        read_all(sock)
    assert app.scopes == []


def test_thirty_headers_all_reach_the_application() -> None:
    app = Noting()
    with running(app) as server, server.connect() as sock:
        sock.sendall(get("/", *[f"X-{i}: y" for i in range(29)]))
        read_response(sock)
    assert len(app.scopes[0]["headers"]) == 30


def test_a_body_just_below_mongooses_limit_is_served() -> None:
    data = b"x" * (MESSAGE_MOST - 1000)
    app = Noting(body=b"ok")
    with running(app) as server, server.connect() as sock:
        sock.sendall(post(data))
        assert body_of(read_response(sock)) == b"ok"
    assert app.bodies == [data]


def test_a_chunked_body_beyond_mongooses_limit_is_refused() -> None:
    with running(hello) as server, server.connect() as sock:
        sock.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        sock.setblocking(True)
        try:
            for _ in range(60):
                sock.sendall(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert status_of(read_all(sock)) in (413, 0)


def test_limit_body_refuses_longer_ones() -> None:
    with running(Noting(), limit_body=3) as server, server.connect() as sock:
        sock.sendall(post(b"abc"))
        assert body_of(read_response(sock)) == b"abc"
        sock.sendall(post(b"abcd"))
        assert status_of(read_all(sock)) == 413
    with running(Noting(), limit_body=3) as server, server.connect() as sock:
        sock.sendall(
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"4\r\nabcd\r\n0\r\n\r\n"
        )
        assert status_of(read_all(sock)) == 413


async def fails(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["path"] == "/late":
        await send(START)
        await send(body(b"part", more=True))
    if scope["path"] == "/started":
        await send(START)
    if scope["path"] == "/length":
        await send({**START, "headers": [(b"content-length", b"5")]})
        await send(body(b"four"))
    if scope["path"] == "/split":
        await send({**START, "headers": [(b"x", b"a\r\nb: c")]})
    if scope["path"] != "/returns":
        raise LookupError("on purpose")


@pytest.mark.parametrize("path", ["/", "/started", "/length", "/split", "/returns"])
def test_an_application_that_fails_before_its_response_gives_a_500(path: str) -> None:
    with running(fails) as server, server.connect() as sock:
        for _ in range(2):
            sock.sendall(get(path))
            assert status_of(read_response(sock)) == 500


def test_an_application_that_fails_in_its_stream_cuts_it_visibly() -> None:
    with running(fails) as server, server.connect() as sock:
        sock.sendall(get("/late"))
        response = read_all(sock)
        assert not response.endswith(b"0\r\n\r\n")


def test_receive_after_the_response_is_a_disconnect() -> None:
    said: list[str] = []
    done = threading.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await read_body(receive)
            await answer(send, b"hello", headers=PLAIN)
            said.extend([(await receive())["type"], (await receive())["type"]])
            done.set()

    with running(app) as server:
        server.ask()
        assert done.wait(LIMIT_SECONDS)
    assert said == ["http.disconnect", "http.disconnect"]


def test_send_raises_an_oserror_when_the_client_has_left() -> None:
    raised: list[BaseException] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        await send(START)
        try:
            while True:
                await send(body(b"x" * 1000, more=True))
        except OSError as error:
            raised.append(error)
            raise

    with running(app) as server:
        with server.connect() as sock:
            sock.sendall(get("/"))
            sock.recv(1)
        assert eventually(lambda: raised)
        assert eventually(lambda: not server.server._tasks)


def test_a_stream_that_nobody_reads_stops_after_its_permits() -> None:
    piece = b"x" * 65536
    sent: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        await send(START)
        for number in range(PIECES):
            await send(body(piece, more=True))
            sent.append(number)
        await send(body())

    with running(app) as server, server.connect() as sock:
        sock.sendall(get("/", "Connection: close"))
        assert eventually(lambda: server.poll._conns)
        (peer,) = server.poll._peers.values()
        assert eventually(lambda: peer.conn.send_len > server.server._options.high_water)
        counts = [0, -1]
        while counts[-1] != counts[-2]:
            threading.Event().wait(0.2)
            counts.append(len(sent))
        # the kernel's buffers hold some megabytes of the stream's 62
        assert len(sent) < PIECES // 2
        assert peer.conn.send_len < 32 * len(piece)
        assert read_all(sock).count(b"10000\r\n") == PIECES


def test_pipelined_requests_whose_answers_are_not_read_wait() -> None:
    app = Noting(body=b"x" * 1_000_000)
    with running(app) as server, server.connect() as sock:
        sock.sendall(get("/") * 200)
        assert eventually(lambda: any(peer.held for peer in server.poll._peers.values()))
        assert len(app.scopes) < 50
        sock.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize(
    ("option", "raw", "status"),
    [
        ("timeout_head", b"", 0),
        ("timeout_head", b"GET / HT", 408),
        ("timeout_body", post(b"abc")[:-1], 408),
    ],
)
def test_a_client_that_is_too_slow_is_refused(option: str, raw: bytes, status: int) -> None:
    with running(hello, **{option: 0.2}) as server, server.connect() as sock:
        sock.sendall(raw)
        assert status_of(read_all(sock)) == status


def test_an_idle_connection_is_closed() -> None:
    with running(hello, timeout_keep_alive=0.2) as server, server.connect() as sock:
        sock.sendall(get("/"))
        assert read_all(sock).endswith(b"\r\n0\r\n\r\n")


def test_a_client_that_does_not_read_is_cut_off() -> None:
    app = Noting(body=b"x" * 20_000_000)
    with running(app, timeout_write=0.2) as server, server.connect() as sock:
        sock.sendall(get("/"))
        assert eventually(lambda: app.scopes)
        assert eventually(server.poll.is_quiet)
        assert len(read_all(sock)) < 20_000_000


def test_a_running_request_is_finished_at_the_stop() -> None:
    entered, go_on = threading.Event(), threading.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            entered.set()
            while not go_on.is_set():
                await asyncio.sleep(0.01)
            await answer(send, b"late", headers=PLAIN)

    with running(app) as server, server.connect() as sock:
        sock.sendall(get("/"))
        assert entered.wait(LIMIT_SECONDS)
        server.loop.call_soon_threadsafe(server.server.begin_stop)
        assert eventually(lambda: server.poll._stopping)
        go_on.set()
        assert body_of(read_all(sock)) == b"late"


def test_a_request_that_does_not_end_is_told_and_then_cancelled_at_the_stop() -> None:
    told: list[str] = []
    entered = threading.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        await receive()
        entered.set()
        told.append((await receive())["type"])
        try:
            await asyncio.sleep(3600)
        finally:
            told.append("cancelled")

    options: dict[str, Any] = {"timeout_graceful_shutdown": 0.1, "timeout_disconnect": 0.2}
    with running(app, **options) as server, server.connect() as sock:
        sock.sendall(get("/"))
        assert entered.wait(LIMIT_SECONDS)
    assert told == ["http.disconnect", "cancelled"]


def test_nothing_is_left_of_many_requests() -> None:
    with running(Noting(body=b"x" * 20_000)) as server:
        for _ in range(50):
            server.ask()
        wakeups = server.poll.wakeups
        assert eventually(server.poll.is_quiet)
        assert (server.poll._conns, wakeups._stash, wakeups._open) == ({}, {}, {})
        assert (wakeups._bytes, len(wakeups._waiting)) == (0, 0)
        assert eventually(lambda: not server.server._tasks)


def test_more_wakeups_than_the_kernel_takes_are_not_lost() -> None:
    with running(Noting(body=b"x" * 8000)) as server:
        socks = [server.connect() for _ in range(100)]
        for sock in socks:
            sock.sendall(get("/", "Connection: close"))
        for sock in socks:
            assert body_of(read_all(sock)) == b"x" * 8000
            sock.close()
        assert all(json.loads(data[1:]) for data in server.posted)
