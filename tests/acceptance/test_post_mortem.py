"""The post-mortem of the contaminated event loop, replayed on real pools and a real server."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from threading import Thread

import anyio
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from rookery.core.boundary.bridge import Bridge, open_bridge
from rookery.core.boundary.errors import BridgeFull, BridgeTimeout, OnTheLoop
from rookery.core.boundary.offload import Threads, stream
from rookery.server.db.target import Target
from tests.acceptance.broken_bridges import BROKEN, STREAMS
from tests.acceptance.pools import SIZE, Pool, open_pool
from tests.eventually import eventually

OUR_STREAMS = 200
EVENTS = 5
LONG = 60.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def dsn(bare_database: Target) -> str:
    return bare_database.dsn


@pytest.fixture(params=["asyncpg", "sqlalchemy"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def pool(kind: str, dsn: str) -> AsyncIterator[Pool]:
    opened = await open_pool(kind, dsn)
    yield opened
    await opened.close()


@pytest.fixture
async def bridge(pool: Pool) -> AsyncIterator[Bridge]:
    async with open_bridge() as opened:
        yield opened


@pytest.mark.parametrize("broken", BROKEN)
def test_a_loop_per_call_ruins_the_streams_and_the_pool(broken: str, kind: str, dsn: str) -> None:
    child = subprocess.run(
        [sys.executable, "-m", "tests.acceptance.broken_bridges", broken, kind, dsn],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    crashed = child.returncode < 0  # seen: SIGSEGV
    assert crashed or child.returncode == 0, child.stderr
    outcome = {} if crashed else json.loads(child.stdout)
    assert crashed or outcome["completed"] < STREAMS
    assert crashed or outcome["hung"] or _is_the_known_fault(outcome["errors"]), outcome


def _is_the_known_fault(errors: list[str]) -> bool:
    known = ("attached to a different loop", "another operation is in progress")
    return any(sentence in error for sentence in known for error in errors)


class ChatStore:
    """A store with a blocking face, as a library would call it from any thread."""

    def __init__(self, bridge: Bridge, pool: Pool) -> None:
        self._bridge = bridge
        self._pool = pool

    def messages(self) -> object:
        return self._bridge.call(self._pool.value, "select 7", seconds=LONG)


def make_app(store: ChatStore, threads: Threads) -> Starlette:
    """Every row of the table "which thread am I on" as a route."""

    async def on_the_loop(request: Request) -> Response:
        return PlainTextResponse(str(store.messages()))

    def in_a_thread(request: Request) -> Response:
        return PlainTextResponse(str(store.messages()))

    async def in_an_executor(request: Request) -> Response:
        loop = asyncio.get_running_loop()
        return PlainTextResponse(str(await loop.run_in_executor(None, store.messages)))

    def events() -> Iterator[str]:
        for _ in range(EVENTS):
            yield f"data: {store.messages()}\n\n"

    async def generator(request: Request) -> Response:
        return StreamingResponse(events(), media_type="text/event-stream")

    async def our_stream(request: Request) -> Response:
        return StreamingResponse(stream(events, threads), media_type="text/event-stream")

    async def ping(request: Request) -> Response:
        return PlainTextResponse("pong")

    endpoints = (on_the_loop, in_a_thread, in_an_executor, generator, our_stream, ping)
    return Starlette(routes=[Route(f"/{one.__name__}", one) for one in endpoints])


@asynccontextmanager
async def serving(app: Starlette) -> AsyncIterator[int]:
    """The app on a real server on this very loop; gives the port."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        listener.setblocking(False)
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
        running = asyncio.create_task(server.serve(sockets=[listener]))
        yield int(listener.getsockname()[1])
        server.should_exit = True
        await running


async def get(port: int, path: str) -> str:
    """The whole answer to a request, head and body, read until the server is done."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read(-1)
    writer.close()
    await writer.wait_closed()
    return answer.decode()


def is_whole(answer: str) -> bool:
    """A stream with all its events and the mark of a proper end."""
    return answer.count("data: 7\n\n") == EVENTS and answer.endswith("0\r\n\r\n")


@pytest.mark.anyio
async def test_two_hundred_streams_over_our_bridge_end_whole_while_the_loop_answers(
    bridge: Bridge, pool: Pool
) -> None:
    threads, answers, pongs = Threads(), list[str](), list[str]()

    async def read(port: int) -> None:
        answers.append(await get(port, "our_stream"))

    async def ping(port: int) -> None:
        while len(answers) < OUR_STREAMS:
            pongs.append(await get(port, "ping"))

    app = make_app(ChatStore(bridge, pool), threads)
    async with serving(app) as port, anyio.create_task_group() as group:
        group.start_soon(ping, port)
        for _ in range(OUR_STREAMS):
            group.start_soon(read, port)
    assert sum(map(is_whole, answers)) == OUR_STREAMS
    assert len(pongs) > 3
    assert all(pong.endswith("pong") for pong in pongs)
    assert (pool.held(), bridge.stats().inside, bridge.stats().refused) == (0, 0, 0)


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["in_a_thread", "in_an_executor", "generator", "our_stream"])
async def test_the_bridge_works_on_every_thread_but_the_loops(
    path: str, bridge: Bridge, pool: Pool
) -> None:
    async with serving(make_app(ChatStore(bridge, pool), Threads())) as port:
        answer = await get(port, path)
    assert answer.startswith("HTTP/1.1 200")
    assert "7" in answer.partition("\r\n\r\n")[2]


@pytest.mark.anyio
async def test_an_async_handler_that_calls_the_bridge_is_refused_and_the_loop_lives_on(
    bridge: Bridge, pool: Pool
) -> None:
    async with serving(make_app(ChatStore(bridge, pool), Threads())) as port:
        assert (await get(port, "on_the_loop")).startswith("HTTP/1.1 500")
        assert (await get(port, "ping")).endswith("pong")
    with pytest.raises(OnTheLoop):
        ChatStore(bridge, pool).messages()
    assert bridge.stats().refused_on_loop == 2


@pytest.mark.anyio
async def test_a_blocking_interface_may_be_called_from_any_thread(
    bridge: Bridge, pool: Pool
) -> None:
    found: list[object] = []
    worker = Thread(target=lambda: found.append(ChatStore(bridge, pool).messages()))
    worker.start()
    await eventually(lambda: bool(found))
    assert found == [7]


@pytest.mark.anyio
async def test_a_thousand_time_outs_leave_the_pool_as_it_was(pool: Pool) -> None:
    # As few crossings as connections: each time-out makes the drivers open connections, to ask
    # the server to cancel and to replace what was lost, and a flood of those would fill its queue.
    async with open_bridge(limit=SIZE, grace_seconds=LONG) as bridge:

        def give_up_often() -> None:
            while bridge.stats().timeouts < 1000:
                with suppress(BridgeTimeout, BridgeFull):
                    bridge.call(pool.value, "select pg_sleep(60)", seconds=0.02)

        async with anyio.create_task_group() as group:
            for _ in range(SIZE):
                group.start_soon(Threads().io, give_up_often)
        await eventually(lambda: (bridge.stats().inside, pool.held()) == (0, 0))
    await _settled(_sleepers, pool, 0)
    await asyncio.gather(*(pool.value("select pg_sleep(0.01)") for _ in range(SIZE)))
    await _settled(_connections, pool, SIZE)
    assert pool.held() == 0


async def _settled(look: Callable[[Pool], Awaitable[object]], pool: Pool, count: int) -> None:
    """The server needs a moment to part with what was given up."""
    with anyio.fail_after(60):
        while True:
            if await look(pool) == count:
                return
            await anyio.sleep(0.05)


async def _connections(pool: Pool) -> object:
    """How many connections of this pool the server knows."""
    return await pool.value(
        "select count(*) from pg_stat_activity"
        " where application_name = current_setting('application_name')"
    )


async def _sleepers(pool: Pool) -> object:
    """How many queries of this pool the server still runs, beside this one."""
    return await pool.value(
        "select count(*) from pg_stat_activity where state = 'active' and pid <> pg_backend_pid()"
        " and application_name = current_setting('application_name')"
    )
