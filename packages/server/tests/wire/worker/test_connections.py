"""Workers' calls on connections of uvicorn, which takes those that come whole the short way."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from rookery.server.carriers.on_uvicorn import UvicornServer
from rookery.server.carriers.serving import ListenAddress, bind_socket
from rookery.server.carriers.uvicorn_connection import LimitedHttp
from tests.eventually import eventually
from tests.makers import pairs
from tests.wire.worker.farm import Answer, ServedFarm, Worker, open_farm, stats

pytestmark = pytest.mark.anyio


class Line:
    """A connection on which a worker writes its requests as it likes."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: UvicornServer
    ) -> None:
        self.reader = reader
        self.writer = writer
        self._server = server

    @property
    def open_connections(self) -> int:
        return self._server.connections()

    @property
    def served(self) -> LimitedHttp:
        """The server's end of this connection."""
        (connection,) = self._server._server.server_state.connections
        assert isinstance(connection, LimitedHttp)
        return connection

    async def answer(self) -> tuple[int, dict[str, str], Answer]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await self.reader.readexactly(int(headers["content-length"]))
        return int(head[0].split()[1]), headers, json.loads(body)


def raw(path: str, body: Answer, *more: str) -> bytes:
    content = json.dumps(body).encode()
    lines = [f"POST /api/{path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(content)}"]
    return "\r\n".join([*lines, *more, "", ""]).encode() + content


def update(worker: Worker, wins: int) -> bytes:
    return raw("update_task", worker.body(**worker.ids, stats=stats(pairs(ww=wins))))


@asynccontextmanager
async def served(
    unread_seconds: float = 60.0,
) -> AsyncIterator[tuple[ServedFarm, Worker, Line]]:
    async with open_farm() as farm:
        farm.parts.limits = replace(farm.parts.limits, unread_seconds=unread_seconds)
        await farm.submit()
        worker = farm.worker()
        await worker.request_task()
        server, listens = UvicornServer(farm.site.app, farm.parts, 5), asyncio.Event()
        listening = bind_socket(ListenAddress("127.0.0.1", 0))
        serving = asyncio.create_task(server.serve(listening, listens.set))
        await listens.wait()
        line = Line(*await asyncio.open_connection(*listening.getsockname()), server)
        try:
            yield farm, worker, line
        finally:
            line.writer.close()
            server.stop()
            await serving


async def test_a_call_that_comes_whole_is_answered_like_any_other() -> None:
    async with served() as (_, worker, line):
        whole = raw("beat", worker.body(**worker.ids))
        line.writer.write(whole)
        status, headers, answer = await line.answer()
        line.writer.write(whole[:50])
        await asyncio.sleep(0.05)
        line.writer.write(whole[50:])
        assert (status, answer["task_alive"]) == (200, True)
        again, in_pieces, _ = await line.answer()
        assert again == 200
        assert headers.keys() == in_pieces.keys() | {"date"}
        assert headers["x-request-id"] != in_pieces["x-request-id"]


async def test_answers_that_nobody_reads_are_not_piled_up() -> None:
    async with served() as (_, worker, line):
        whole = raw("beat", worker.body(**worker.ids))
        line.writer.write(whole)
        await line.answer()
        line.served.pause_writing()  # as the transport does when much waits for the client
        line.writer.write(whole)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await line.reader.readexactly(1)
        line.served.resume_writing()
        assert (await line.answer())[0] == 200


async def test_who_reads_nothing_is_given_up() -> None:
    async with served(unread_seconds=0.2) as (_, _, line):
        line.writer.write(b"GET /login HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2_000)
        await eventually(lambda: line.open_connections == 1)
        await eventually(lambda: line.open_connections == 0)


async def test_what_is_unusual_goes_the_long_way_on_the_same_connection() -> None:
    async with served() as (_, worker, line):
        line.writer.write(raw("beat", {**worker.body(**worker.ids), "password": "wrong"}))
        assert (await line.answer())[0] == 401
        line.writer.write(raw("beat", {"password": "x"}))
        assert (await line.answer())[0] == 400
        line.writer.write(raw("beat", worker.body(**worker.ids), "Connection: close"))
        status, headers, _ = await line.answer()
        assert (status, headers["connection"]) == (200, "close")


async def test_answers_leave_in_order_and_not_before_their_commit() -> None:
    async with served() as (farm, worker, line):
        farm.parts.store.commits.hold()
        line.writer.write(update(worker, 1))
        await asyncio.sleep(0.05)
        line.writer.write(raw("beat", worker.body(**worker.ids)) + update(worker, 2))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await line.reader.readexactly(1)
        farm.parts.store.commits.release()
        answers = [await line.answer() for _ in range(3)]
        assert [answer["task_alive"] for _, _, answer in answers] == [True] * 3
        assert farm.stored().tally.results == pairs(ww=2)


async def test_a_lost_commit_is_told_as_one() -> None:
    async with served() as (farm, worker, line):
        farm.parts.store.commits.hold()
        line.writer.write(update(worker, 1))
        await asyncio.sleep(0.05)
        farm.parts.store.commits.lose()
        head = await line.reader.readuntil(b"\r\n\r\n")
        assert b" 503 " in head.split(b"\r\n")[0]
        assert farm.parts.traffic.inside == 0
