"""Workers' calls on connections of uvicorn, which takes those that come whole the short way."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from rookery.web.on_uvicorn import UvicornServer
from rookery.web.serving import ListenAddress, bind_socket
from tests.makers import pairs
from tests.wire.worker.farm import Answer, ServedFarm, Worker, open_farm, stats

pytestmark = pytest.mark.anyio


class Line:
    """A connection on which a worker writes its requests as it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

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
async def served() -> AsyncIterator[tuple[ServedFarm, Worker, Line]]:
    async with open_farm() as farm:
        await farm.submit()
        worker = farm.worker()
        await worker.request_task()
        server, listens = UvicornServer(farm.site.app, farm.parts, 5), asyncio.Event()
        listening = bind_socket(ListenAddress("127.0.0.1", 0))
        serving = asyncio.create_task(server.serve(listening, listens.set))
        await listens.wait()
        line = Line(*await asyncio.open_connection(*listening.getsockname()))
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
